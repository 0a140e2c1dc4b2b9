import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { readQuery } from "@/insights/kinds/stored";
import type { Question } from "@/insights/question/model";
import { ProblemList } from "@/insights/question/ProblemList";
import type { Query } from "@/insights/question/wire";
import { CopyButton } from "@/ui/Copy";
import { FormDialog } from "@/ui/Dialog";
import { JsonEditor } from "@/ui/JsonEditor";
import { words } from "@/words/insightsBuilder";

export interface QueryProps {
  query: Query;
  onOpen: (question: Question) => void;
}

/** The API query of a question, to copy it or paste another one. */
export function QueryDialog({ query, onOpen, onClose }: QueryProps & { onClose: () => void }) {
  const queries = useQueryClient();
  const [text, setText] = useState(() => JSON.stringify(query, null, 2));
  const [isValid, setValid] = useState(true);
  const [problems, setProblems] = useState<readonly string[]>([]);
  const open = async () => {
    const found = await readQuery(queries, JSON.parse(text));
    setProblems(found.problems);
    if (found.question === null) return;
    onOpen(found.question);
    onClose();
  };
  return (
    <FormDialog
      isOpen
      wide
      onClose={onClose}
      title={words.json}
      description={words.jsonHint}
      submit={words.apply}
      canSubmit={isValid}
      onSubmit={() => void open()}
    >
      <div className="flex justify-end">
        <CopyButton text={text} what={words.query} />
      </div>
      <JsonEditor
        label={words.jsonLabel}
        value={text}
        onChange={(next, valid) => {
          setText(next);
          setValid(valid);
          setProblems([]);
        }}
      />
      {problems.length > 0 && (
        <div role="alert" className="text-bad">
          <p>{words.problemsOfQuery}</p>
          <ProblemList problems={problems} />
        </div>
      )}
    </FormDialog>
  );
}
