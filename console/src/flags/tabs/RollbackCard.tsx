import { Plus } from "lucide-react";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Disclosure } from "@/ui/Disclosure";
import { Card } from "@/ui/Page";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/flagRollout";
import { refresh } from "../changes";
import type { Flag } from "../model";
import { changeFlag, useChangeFlag } from "../queries";
import { RollbackChart } from "./RollbackChart";
import { RollbackDialog } from "./RollbackDialog";
import {
  conditionsToSend,
  nameOfRollback,
  type Rollback,
  rollbackSentence,
  type StoredRollback,
  storedRollbacks,
  writeRollback,
} from "./rollback";

const TEXTS = words.rollback;
const CONDITIONS_MAX = 20;

/** The conditions that switch the flag off automatically, each with its chart. */
export function RollbackCard({ flag }: { flag: Flag }) {
  const stored = storedRollbacks(flag.rollback_conditions);
  // The place of the condition that is edited; one past the last is a new one.
  const [edited, setEdited] = useState<number | null>(null);
  const change = useRollbacks(flag);
  const save = async (place: number, condition: Rollback) => {
    const raws = stored.map((one) => one.raw);
    await change.save(raws.toSpliced(place, 1, writeRollback(condition)), TEXTS.saved);
    setEdited(null);
  };
  const remove = (place: number) => {
    const others = stored.toSpliced(place, 1).map((one) => one.raw);
    change.save(others, TEXTS.removed).catch(toastError);
  };
  return (
    <Card
      title={TEXTS.title}
      description={TEXTS.hint}
      actions={
        <Button
          icon={Plus}
          disabled={!flag.can_edit || stored.length >= CONDITIONS_MAX}
          title={flag.can_edit ? undefined : words.viewer}
          onClick={() => setEdited(stored.length)}
        >
          {TEXTS.add}
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        {flag.performed_rollback === true && <Notice tone="bad">{TEXTS.performed}</Notice>}
        {!flag.active && flag.performed_rollback !== true && stored.length > 0 && (
          <Notice>{TEXTS.off}</Notice>
        )}
        {stored.length === 0 && <p className="text-ink-2">{TEXTS.none}</p>}
        {stored.map((one, place) => (
          <Condition
            key={JSON.stringify(one.raw)}
            condition={one}
            canEdit={flag.can_edit}
            isBusy={change.isPending}
            onEdit={() => setEdited(place)}
            onRemove={() => remove(place)}
          />
        ))}
      </div>
      {edited !== null && (
        <RollbackDialog
          initial={stored[edited]?.read ?? null}
          isBusy={change.isPending}
          error={change.error}
          onClose={() => {
            change.reset();
            setEdited(null);
          }}
          onSave={(condition) => {
            // Shown in the dialog.
            save(edited, condition).catch(() => undefined);
          }}
        />
      )}
    </Card>
  );
}

interface ConditionProps {
  condition: StoredRollback;
  canEdit: boolean;
  isBusy: boolean;
  onEdit: () => void;
  onRemove: () => void;
}

function Condition({ condition, canEdit, isBusy, onEdit, onRemove }: ConditionProps) {
  const { read, metric, threshold, isBelow } = condition;
  const name = nameOfRollback(condition);
  return (
    <section aria-label={name} className="flex flex-col gap-2 border-line border-t pt-3">
      <div className="flex flex-wrap items-center gap-2">
        <h3 className="min-w-0 grow font-medium">
          <bdi>{read === null ? TEXTS.unknown : rollbackSentence(read)}</bdi>
        </h3>
        {read !== null && (
          <Button
            small
            disabled={!canEdit || isBusy}
            aria-label={TEXTS.editOf(name)}
            onClick={onEdit}
          >
            {TEXTS.edit}
          </Button>
        )}
        <Button
          small
          disabled={!canEdit || isBusy}
          aria-label={TEXTS.removeOf(name)}
          onClick={onRemove}
        >
          {TEXTS.remove}
        </Button>
      </div>
      {metric !== null && (
        <RollbackChart metric={metric} what={name} threshold={threshold} isBelow={isBelow} />
      )}
      {read === null && (
        <Disclosure summary={TEXTS.asJson}>
          <pre className="overflow-x-auto whitespace-pre-wrap rounded-md bg-sunken p-3 font-mono text-sm">
            {JSON.stringify(condition.raw, null, 2)}
          </pre>
        </Disclosure>
      )}
    </section>
  );
}

/** Saves all conditions of the flag, with the version that is shown. */
function useRollbacks(flag: Flag) {
  const projectId = useProjectId();
  const change = useChangeFlag(projectId, flag.id);
  const save = async (conditions: readonly unknown[], said: string) => {
    const before = storedRollbacks(flag.rollback_conditions).map((one) => one.raw);
    const saved = await change.mutateAsync({
      rollback_conditions: conditionsToSend(conditions),
      version: flag.version,
    });
    toast({
      text: said,
      undo: async () => {
        const changes = { rollback_conditions: conditionsToSend(before), version: saved.version };
        await changeFlag(projectId, flag.id, changes);
        await refresh(projectId, true);
      },
    });
  };
  return { save, isPending: change.isPending, error: change.error, reset: change.reset };
}
