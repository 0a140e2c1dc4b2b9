import { actionIn, actionOption, withActions } from "@/actions";
import { useProjectId } from "@/app/session";
import { eventOptions } from "@/events";
import type { SeriesAction } from "@/insights/question/model";
import { Combobox, type OptionSource } from "@/ui/combobox";
import { plainName } from "@/ui/properties";
import { words } from "@/words/insightsBuilder";
import { words as questionWords } from "@/words/insightsQuestion";

interface Props {
  label: string;
  /** undefined: nothing is chosen yet; null: any event */
  event: string | null | undefined;
  onChange: (event: string | null) => void;
  /** The chosen action, if actions can be chosen too. */
  action?: SeriesAction | undefined;
  onAction?: (action: SeriesAction) => void;
  error?: string | undefined;
  autoFocus?: boolean;
}

// No event can have this name, because names are trimmed.
const ANY = " ";

/** Chooses one event, any event, or an action. */
export function EventPicker(props: Props) {
  const { label, event, onChange, action, onAction, error, autoFocus = false } = props;
  const projectId = useProjectId();
  const events = withAny(eventOptions(projectId));
  const change = (value: string | null) => {
    if (value === null) return;
    const chosen = onAction && actionIn(value);
    if (chosen) onAction(chosen);
    else onChange(value === ANY ? null : value);
  };
  return (
    <Combobox
      label={label}
      hideLabel
      freeEntry
      placeholder={words.eventPlaceholder}
      options={onAction === undefined ? events : withActions(events, projectId)}
      value={valueIn(event, action)}
      labelOf={labelOf}
      onChange={change}
      error={error}
      autoFocus={autoFocus}
    />
  );
}

function valueIn(event: Props["event"], action: SeriesAction | undefined): string | null {
  if (action !== undefined) return actionOption(action);
  return event === undefined ? null : (event ?? ANY);
}

const labelOf = (value: string): string =>
  value === ANY ? questionWords.allEvents : (actionIn(value)?.name ?? plainName(value));

function withAny(source: OptionSource): OptionSource {
  const any = { value: ANY, label: questionWords.allEvents };
  const fits = (search: string) => any.label.toLowerCase().includes(search.toLowerCase());
  return {
    key: [...source.key, "any"],
    load: async (search, signal) => {
      const found = await source.load(search, signal);
      return fits(search) ? [any, ...found] : found;
    },
  };
}
