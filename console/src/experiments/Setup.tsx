import { useState } from "react";
import { useCanEdit } from "@/app/session";
import { isSame } from "@/flags";
import { useShortcuts } from "@/lib/shortcuts";
import { Button } from "@/ui/Button";
import { ConflictDialog } from "@/ui/ConflictDialog";
import { ErrorNote } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words } from "@/words/experiments";
import {
  type Experiment,
  type ExperimentChanges,
  isConflict,
  useExperimentChange,
  useReadNewest,
} from "./queries";
import { Changes } from "./setup/Changes";
import { bodyOf, type Fields, fieldsOf } from "./setup/fields";
import { usePlan } from "./setup/PlanCard";
import { isPlaced } from "./setup/placed";
import { withPlan } from "./setup/plan";
import { SetupForm } from "./setup/SetupForm";

/** How an experiment is set up. Changes are saved together, and a newer version is not overwritten. */
export function Setup({ experiment }: { experiment: Experiment }) {
  const canEdit = useCanEdit() && !experiment.archived;
  const [base, setBase] = useState(experiment);
  const [fields, setFields] = useState(() => fieldsOf(experiment));
  const read = useReadNewest(experiment.id);
  const [theirs, setTheirs] = useState<Awaited<ReturnType<typeof read>> | null>(null);
  const isLaunched = Boolean(base.start_date);
  const planning = usePlan(fields);
  const changes = changesOf(base, fields);
  const isDirty = Object.keys(changes).length > 0;
  const begin = (next: Experiment) => {
    setBase(next);
    setFields(fieldsOf(next));
    setTheirs(null);
  };
  // A newer version is shown unless there is something that it would overwrite.
  if (experiment.version > base.version && !isDirty) begin(experiment);
  const change = useExperimentChange(experiment.id);
  const save = (version: number) =>
    change.mutate(
      { ...withPlanOf(changes, fields, isLaunched ? undefined : planning.plan), version },
      {
        onSuccess: (saved) => {
          toast({ text: words.saved });
          begin(saved);
        },
        onError: (error) => {
          if (isConflict(error)) void read().then(setTheirs);
        },
      },
    );
  useShortcuts([
    { keys: "mod+s", label: words.save, group: "do", run: () => isDirty && save(base.version) },
  ]);
  const { error } = change;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {isLaunched && canEdit && <p className="text-ink-2">{words.launchedHint}</p>}
      <SetupForm
        fields={fields}
        onChange={setFields}
        planning={isLaunched ? null : planning}
        isSplitOfFlag={false}
        isLaunched={isLaunched}
        isReadOnly={!canEdit}
        error={error}
      />
      {canEdit && isDirty && (
        <section
          data-save-bar
          aria-label={words.unsaved}
          className="sticky bottom-0 z-20 -mx-4 flex flex-wrap items-center justify-end gap-3 border-line border-t bg-panel px-4 py-3 shadow-float sm:mx-0 sm:rounded-t-lg sm:border-x"
        >
          <div className="min-w-0 grow" aria-live="polite">
            {error && !isConflict(error) && !isPlaced(error, fields) ? (
              <ErrorNote error={error} />
            ) : (
              <strong className="font-semibold">{words.unsaved}</strong>
            )}
          </div>
          <Button onClick={() => begin(experiment)}>{words.discard}</Button>
          <Button look="primary" isBusy={change.isPending} onClick={() => save(base.version)}>
            {words.save}
          </Button>
        </section>
      )}
      {theirs !== null && (
        <ConflictDialog
          title={words.conflict}
          by={theirs.by}
          mine={<Changes changes={changes} />}
          theirs={<Changes changes={changesOf(base, fieldsOf(theirs.experiment))} />}
          onKeepMine={() => {
            setTheirs(null);
            save(theirs.experiment.version);
          }}
          onKeepTheirs={() => begin(theirs.experiment)}
          onClose={() => setTheirs(null)}
        />
      )}
    </div>
  );
}

/** Return the fields that differ, as a request changes them. */
function changesOf(base: Experiment, fields: Fields): ExperimentChanges {
  const stored: Readonly<Record<string, unknown>> = bodyOf(fieldsOf(base));
  return Object.fromEntries(
    Object.entries(bodyOf(fields)).filter(([name, value]) => !isSame(stored[name], value)),
  );
}

/** Return the changes with the plan that they lead to. */
function withPlanOf(
  changes: ExperimentChanges,
  fields: Fields,
  plan: ReturnType<typeof usePlan>["plan"],
): ExperimentChanges {
  const isPlanned = "metrics" in changes || "parameters" in changes;
  if (!isPlanned || plan === undefined) return changes;
  return {
    ...changes,
    parameters: withPlan(bodyOf(fields).parameters ?? {}, plan, fields.rollout),
  };
}
