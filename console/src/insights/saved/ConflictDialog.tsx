import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Question } from "@/insights/question/model";
import { ConflictDialog as Conflict } from "@/ui/ConflictDialog";
import { words } from "@/words/insightsSaved";
import type { Insight } from "./queries";
import { storedQuery } from "./stored";
import { useSentence } from "./useSentence";

interface Props {
  mine: string;
  theirs: Insight;
  onKeepMine: () => void;
  onKeepTheirs: () => void;
  onClose: () => void;
}

/** Shows both questions side by side. Neither is lost until the user chooses. */
export function ConflictDialog({ mine, theirs, ...choices }: Props) {
  const stored = useQuery(storedQuery(useQueryClient(), theirs)).data;
  return (
    <Conflict
      {...choices}
      title={words.conflictTitle}
      by={theirs.last_modified_by}
      mine={
        <p>
          <bdi>{mine}</bdi>
        </p>
      }
      theirs={
        <p>{stored?.question ? <Sentence question={stored.question} /> : words.unreadable}</p>
      }
    />
  );
}

const Sentence = ({ question }: { question: Question }) => <bdi>{useSentence(question)}</bdi>;
