import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { optionsOf } from "@/insights/kinds/sql/query";
import type { Question } from "@/insights/question/model";
import { type Insight, insightKeys, useInsightChange } from "@/insights/saved/queries";
import { isText, readStored, removeStored, writeStored } from "@/lib/storage";
import { Button } from "@/ui/Button";
import { toast, toastError } from "@/ui/Toast";
import { words as insightWords } from "@/words/insightsSaved";
import { words } from "@/words/sql";
import { derivedName, sentOf } from "./SaveNew";
import { type Draft, draftOf, useWork, type Work } from "./useWork";
import { valuesOf } from "./variables";
import { Workbench } from "./Workbench";

interface Props {
  insight: Insight;
  stored: Question;
}

/** A saved query, which can be run, changed and saved again. */
export function SavedSql({ insight, stored }: Props) {
  const { text, given, shown } = optionsOf(stored);
  const { variables, ...others } = given;
  const saved = draftOf(text, valuesOf(variables), shown);
  const kept = `sql.draft.insight.${insight.id}`;
  const [first] = useState(() => ({ ...saved, text: readStored(kept, text, isText) }));
  const [rest] = useState(others);
  const work = useWork(first, rest);
  useNewer(saved, work);
  const isChanged = JSON.stringify(work.draft) !== JSON.stringify(saved);
  const keep = (next: Work["draft"]) => {
    if (next.text === text) removeStored(kept);
    else writeStored(kept, next.text);
  };
  const setDraft: Work["setDraft"] = (next) =>
    work.setDraft((before) => {
      const after = typeof next === "function" ? next(before) : next;
      keep(after);
      return after;
    });
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Workbench work={{ ...work, setDraft }} isAsked />
      {isChanged && (
        <Changes insight={insight} work={work} onDiscard={() => setDraft(saved)} kept={kept} />
      )}
    </div>
  );
}

/** Take over what is saved by somebody else while nothing was changed here. */
function useNewer(saved: Draft, { draft, setDraft }: Work): void {
  const written = JSON.stringify(saved);
  const former = useRef(written);
  useEffect(() => {
    if (former.current === written) return;
    if (JSON.stringify(draft) === former.current) setDraft(JSON.parse(written));
    former.current = written;
  }, [written, draft, setDraft]);
}

interface ChangesProps {
  insight: Insight;
  work: Work;
  kept: string;
  onDiscard: () => void;
}

function Changes({ insight, work, kept, onDiscard }: ChangesProps) {
  const canEdit = useCanEdit();
  const projectId = useProjectId();
  const queries = useQueryClient();
  const change = useInsightChange(insight.id);
  const [base] = useState(() => JSON.stringify(insight.query));
  const isStale = JSON.stringify(insight.query) !== base;
  const save = async () => {
    try {
      await change.mutateAsync({
        query: sentOf(work.query, work.draft.shown),
        derived_name: derivedName(work.draft.text),
        expected_modified_at: insight.last_modified_at,
      });
      removeStored(kept);
      toast({ text: words.saved });
    } catch (error) {
      toastError(error);
      void queries.invalidateQueries({ queryKey: insightKeys.one(projectId, insight.id) });
    }
  };
  return (
    <section
      data-save-bar
      aria-label={insightWords.unsaved}
      className="sticky bottom-0 z-20 -mx-4 flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-t bg-panel px-4 py-3 shadow-float sm:mx-0 sm:rounded-t-lg sm:border-x"
    >
      <div className="min-w-0 grow basis-64">
        <h2 className="font-semibold">{insightWords.unsaved}</h2>
        {isStale && (
          <p role="alert" className="text-warn">
            {words.stale}
          </p>
        )}
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <Button onClick={onDiscard}>{insightWords.discard}</Button>
        <Button
          look="primary"
          isBusy={change.isPending}
          disabled={!canEdit}
          title={canEdit ? undefined : insightWords.viewerHint}
          onClick={() => void save()}
        >
          {insightWords.saveChanges}
        </Button>
      </div>
    </section>
  );
}
