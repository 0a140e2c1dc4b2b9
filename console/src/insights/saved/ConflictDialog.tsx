import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Question } from "@/insights/question/model";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
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

/** Shows both versions side by side. Neither is lost until the user chooses. */
export function ConflictDialog({ mine, theirs, onKeepMine, onKeepTheirs, onClose }: Props) {
  const stored = useQuery(storedQuery(useQueryClient(), theirs)).data;
  const by = theirs.last_modified_by?.first_name || theirs.last_modified_by?.email || "?";
  return (
    <Dialog
      isOpen
      wide
      onClose={onClose}
      title={words.conflictTitle}
      description={words.conflictHint}
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <Side title={words.mineTitle}>
          <bdi>{mine}</bdi>
        </Side>
        <Side title={words.theirs(by)}>
          {stored?.question ? <Sentence question={stored.question} /> : words.unreadable}
        </Side>
      </div>
      <div className="mt-4 flex flex-wrap justify-end gap-2">
        <Button onClick={onKeepTheirs}>{words.keepTheirs}</Button>
        <Button look="primary" data-confirms onClick={onKeepMine}>
          {words.keepMine}
        </Button>
      </div>
    </Dialog>
  );
}

function Side({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section className="rounded-md border border-line p-3">
      <h3 className="mb-1 font-medium">
        <bdi>{title}</bdi>
      </h3>
      <p>{children}</p>
    </section>
  );
}

const Sentence = ({ question }: { question: Question }) => <bdi>{useSentence(question)}</bdi>;
