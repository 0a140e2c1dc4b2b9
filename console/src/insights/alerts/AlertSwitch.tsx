import { Switch } from "@/ui/Field";
import { toastError } from "@/ui/Toast";
import { words } from "@/words/alerts";
import { type Alert, useAlertChange } from "./queries";

/** Switches an alert on or off. An alert that is off is not checked. */
export function AlertSwitch({ alert }: { alert: Alert }) {
  const change = useAlertChange(alert.id);
  return (
    <Switch
      label={words.enabledOf(alert.name)}
      isOn={change.isPending ? (change.variables.enabled ?? alert.enabled) : alert.enabled}
      onChange={(enabled) => change.mutate({ enabled }, { onError: toastError })}
    />
  );
}
