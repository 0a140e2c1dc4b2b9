import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CalendarPlus } from "lucide-react";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { Badge, type Tone } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/flagRollout";
import type { Flag } from "../model";
import { flagKeys } from "../queries";
import { ScheduleDialog } from "./ScheduleDialog";
import {
  againOf,
  isExecuted,
  type ScheduledChange,
  type ScheduleState,
  stateOf,
  stepText,
  targetText,
} from "./schedule";
import { cancelSchedule, schedule, schedulesQuery } from "./scheduleQueries";

const TEXTS = words.schedule;
const TONES: Record<ScheduleState, Tone> = {
  waiting: "info",
  running: "accent",
  done: "good",
  failed: "bad",
};

/** The scheduled changes of the flag: waiting, done and failed. */
export function ScheduleCard({ flag }: { flag: Flag }) {
  const projectId = useProjectId();
  const [isAdding, setAdding] = useState(false);
  const schedules = useQuery(schedulesQuery(projectId, flag.id));
  return (
    <Card
      title={TEXTS.title}
      description={TEXTS.hint}
      actions={
        <Button
          icon={CalendarPlus}
          disabled={!flag.can_edit}
          title={flag.can_edit ? undefined : words.viewer}
          onClick={() => setAdding(true)}
        >
          {TEXTS.add}
        </Button>
      }
    >
      <Loaded query={schedules}>
        {(changes) =>
          changes.length === 0 ? (
            <p className="text-ink-2">{TEXTS.none}</p>
          ) : (
            <ul aria-label={TEXTS.list} className="flex flex-col">
              {changes.map((change) => (
                <Entry key={change.id} flag={flag} change={change} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {isAdding && <ScheduleDialog flag={flag} onClose={() => setAdding(false)} />}
    </Card>
  );
}

function Entry({ flag, change }: { flag: Flag; change: ScheduledChange }) {
  const state = stateOf(change);
  const by = change.created_by;
  return (
    <li className="flex flex-col gap-1.5 border-line border-b py-3 first:pt-0 last:border-b-0 last:pb-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Badge tone={TONES[state]}>{TEXTS.state[state]}</Badge>
        {targetText(change) !== "" && <span>{targetText(change)}</span>}
        {by !== null && (
          <span className="text-ink-3 text-sm">
            <bdi>{TEXTS.by(by.first_name || by.email)}</bdi>
          </span>
        )}
        {(state === "waiting" || state === "running") && (
          <span className="ml-auto">
            <Cancel flag={flag} change={change} />
          </span>
        )}
      </div>
      <ol className="flex flex-wrap gap-x-5 gap-y-1">
        {change.steps.map((step) => (
          <li key={step.scheduled_at} className="flex items-baseline gap-1.5">
            <span className={isExecuted(step) ? "text-ink-3" : "font-medium"}>
              {stepText(step)}
            </span>
            <span className="text-ink-2 text-sm">
              {isExecuted(step) && `${TEXTS.done} `}
              <Time at={step.executed_at ?? step.scheduled_at} />
            </span>
          </li>
        ))}
      </ol>
      {change.failure_reason !== null && (
        <p className="text-bad">
          <bdi>{TEXTS.failed(change.failure_reason)}</bdi>
        </p>
      )}
    </li>
  );
}

function Cancel({ flag, change }: { flag: Flag; change: ScheduledChange }) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: flagKeys.all(projectId) });
  const again = againOf(change);
  const cancel = useMutation({
    mutationFn: () => cancelSchedule(projectId, flag.id, change.id),
    onSuccess: async () => {
      await refresh();
      toast({
        text: TEXTS.cancelled,
        ...(again !== null && {
          undo: async () => {
            await schedule(projectId, flag.id, again);
            await refresh();
          },
        }),
      });
    },
    onError: toastError,
  });
  const what = change.steps.map(stepText).join(" → ");
  return (
    <Button
      small
      aria-label={TEXTS.cancelOf(what)}
      disabled={!flag.can_edit}
      isBusy={cancel.isPending}
      onClick={() => cancel.mutate()}
    >
      {TEXTS.cancel}
    </Button>
  );
}
