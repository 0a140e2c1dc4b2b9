import { AlarmClock, AlarmClockOff } from "lucide-react";
import { Button } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";
import { doAndSay } from "@/ui/Toast";
import { words } from "@/words/alerts";
import { type Alert, useAlertChange } from "./queries";

const HOUR_MS = 3_600_000;
const HOURS = [1, 24, 168] as const;

/** Snoozes an alert, or ends that. */
export function Snooze({ alert }: { alert: Alert }) {
  const change = useAlertChange(alert.id);
  const snooze = (until: string | null) =>
    doAndSay(() => change.mutateAsync({ snoozed_until: until }), {
      text: until === null ? words.snoozeEnded(alert.name) : words.snoozed(alert.name),
      ...(until !== null && { undo: () => change.mutateAsync({ snoozed_until: null }) }),
    });
  if (alert.snoozed_until !== null)
    return (
      <Button icon={AlarmClockOff} isBusy={change.isPending} onClick={() => void snooze(null)}>
        {words.endSnooze}
      </Button>
    );
  return (
    <Menu
      trigger={
        <Button icon={AlarmClock} isBusy={change.isPending}>
          {words.snooze}
        </Button>
      }
    >
      {HOURS.map((hours) => (
        <MenuItem
          key={hours}
          onSelect={() => void snooze(new Date(Date.now() + hours * HOUR_MS).toISOString())}
        >
          {words.snoozeFor[hours]}
        </MenuItem>
      ))}
    </Menu>
  );
}
