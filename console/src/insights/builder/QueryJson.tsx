import { useQueryClient } from "@tanstack/react-query";
import { Braces } from "lucide-react";
import { useState } from "react";
import { readQuery } from "@/insights/kinds/stored";
import type { Question } from "@/insights/question/model";
import type { Query } from "@/insights/question/wire";
import { useShortcuts } from "@/lib/shortcuts";
import { Button } from "@/ui/Button";
import { CopyButton } from "@/ui/Copy";
import { FormDialog } from "@/ui/Dialog";
import { JsonEditor } from "@/ui/JsonEditor";
import { words } from "@/words/insightsBuilder";

interface Props {
  query: Query;
  onOpen: (question: Question) => void;
}

/** A button that shows the API query, to copy it or paste another one. */
export function QueryJson({ query, onOpen }: Props) {
  const [isOpen, setOpen] = useState(false);
  useShortcuts([{ keys: ".", label: words.json, group: "do", run: () => setOpen(true) }]);
  return (
    <>
      <Button icon={Braces} aria-keyshortcuts="." onClick={() => setOpen(true)}>
        {words.json}
      </Button>
      {isOpen && <QueryDialog query={query} onOpen={onOpen} onClose={() => setOpen(false)} />}
    </>
  );
}

function QueryDialog({ query, onOpen, onClose }: Props & { onClose: () => void }) {
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
          <ul className="list-disc pl-5">
            {problems.map((problem) => (
              <li key={problem}>
                <bdi>{problem}</bdi>
              </li>
            ))}
          </ul>
        </div>
      )}
    </FormDialog>
  );
}
