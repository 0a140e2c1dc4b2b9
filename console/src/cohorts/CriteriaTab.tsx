import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { ErrorNote } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words } from "@/words/cohorts";
import { GroupEditor } from "./criteria/GroupEditor";
import { type Group, isCompleteGroup, readCriteria, wireFilters } from "./criteria/model";
import { Preview } from "./criteria/Preview";
import { type Cohort, usersOfCohortsQuery } from "./queries";
import { usersOf } from "./usage";
import { useCohortChange } from "./useCohortChange";

const WORDS = words.form;

export function CriteriaTab({ cohort }: { cohort: Cohort }) {
  const stored = readCriteria(cohort.filters);
  if (cohort.is_static) return <MadeFrom criteria={stored} />;
  // Criteria that another user has saved meanwhile replace a draft only where there is none.
  return <CriteriaForm cohort={cohort} stored={stored} />;
}

function MadeFrom({ criteria }: { criteria: Group }) {
  const isEmpty = criteria.values.length === 0;
  return (
    <div className="flex flex-col gap-3">
      <p className="text-ink-2">{WORDS.static_}</p>
      {!isEmpty && (
        <>
          <p className="text-ink-2">{WORDS.madeFrom}</p>
          <GroupEditor group={criteria} onChange={() => undefined} disabled />
        </>
      )}
    </div>
  );
}

function CriteriaForm({ cohort, stored }: { cohort: Cohort; stored: Group }) {
  const canEdit = useCanEdit() && !cohort.deleted;
  const [draft, setDraft] = useState<Group | null>(null);
  const change = useCohortChange(cohort.id);
  const criteria = draft ?? stored;
  const save = () =>
    change.mutate(
      { filters: wireFilters(criteria) },
      {
        onSuccess: () => {
          const undo = () => change.mutateAsync({ filters: wireFilters(stored) });
          toast({ text: words.saved, undo });
          setDraft(null);
        },
      },
    );
  return (
    <div className="grid min-w-0 items-start gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
      <div className="flex min-w-0 flex-col gap-4">
        <UsedBy cohort={cohort} />
        <GroupEditor group={criteria} onChange={setDraft} disabled={!canEdit} />
        {change.isError && <ErrorNote error={change.error} />}
        {draft !== null && (
          <div className="flex flex-wrap items-center gap-2">
            <Button
              look="primary"
              isBusy={change.isPending}
              disabled={!isCompleteGroup(criteria)}
              onClick={save}
            >
              {WORDS.saveCriteria}
            </Button>
            <Button onClick={() => setDraft(null)}>{WORDS.discard}</Button>
            <span className="text-ink-3 text-sm">{WORDS.recalculates}</span>
          </div>
        )}
      </div>
      <Preview criteria={criteria} saved={draft === null ? cohort : undefined} />
    </div>
  );
}

/** Whose audience a change of the criteria changes. */
function UsedBy({ cohort }: { cohort: Cohort }) {
  const all = useQuery(usersOfCohortsQuery(useProjectId())).data;
  if (all === undefined) return null;
  const { flags } = usersOf(cohort.id, all);
  if (flags.length === 0) return null;
  return <Notice tone="warn">{WORDS.usedBy(flags.map(({ key }) => key).join(", "))}</Notice>;
}
