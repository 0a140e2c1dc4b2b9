import type { Answer, Kind, Place, Question } from "@/insights";

// What a tile has above and below its figure, and the figure around its drawing.
const AROUND_PX = 180;
const LEAST_PX = 90;

interface Props {
  kind: Kind;
  question: Question;
  answer: Answer;
  /** Of the whole tile, in pixels. */
  height: number;
  onOpen?: (place: Place) => void;
}

/** The answer of a tile, as high as the tile allows. */
export const TileResult = ({ kind, question, answer, height, onOpen }: Props) => (
  <kind.Result
    isTile
    question={question}
    answer={answer}
    height={Math.max(LEAST_PX, height - AROUND_PX)}
    {...(onOpen && { onOpen })}
  />
);
