import { memo } from "react";
import { type Answer, type Kind, notesOf, type Place, type Question } from "@/insights";

// Height taken by the tile around its figure, and by the figure around its drawing.
const AROUND_PX = 180;
const LEAST_PX = 90;

interface Props {
  kind: Kind;
  question: Question;
  answer: Answer;
  /** Height of the whole tile, in pixels. */
  height: number;
  onOpen?: (place: Place) => void;
}

/** The result of a tile, as tall as the tile allows. It is drawn again only for other properties. */
export const TileResult = memo(({ kind, question, answer, height, onOpen }: Props) => (
  <kind.Result
    isTile
    question={question}
    answer={answer}
    height={Math.max(LEAST_PX, height - AROUND_PX)}
    {...(onOpen && { onOpen })}
  />
));

/** What the tile says about its numbers, such as "25 of 311 values shown", on one line. */
export function TileNotes({ kind, ...asked }: Pick<Props, "kind" | "question" | "answer">) {
  const notes = notesOf(kind, asked).join(" · ");
  return notes === "" ? null : (
    <span className="truncate" title={notes}>
      {notes}
    </span>
  );
}
