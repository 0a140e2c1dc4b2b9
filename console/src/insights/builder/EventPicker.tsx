import { readActions } from "@/actions";
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

// No event can have these names, because names are trimmed.
const ANY = " ";
const optionOf = ({ id, name }: SeriesAction): string => ` ${id} ${name}`;

function actionIn(value: string): SeriesAction | null {
  const [, id, name] = /^ (\d+) (.*)$/s.exec(value) ?? [];
  return id === undefined || name === undefined ? null : { id: Number(id), name };
}

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
  if (action !== undefined) return optionOf(action);
  return event === undefined ? null : (event ?? ANY);
}

const labelOf = (value: string): string =>
  value === ANY ? questionWords.allEvents : (actionIn(value)?.name ?? plainName(value));

/** The events, and the actions of the project before them. */
function withActions(source: OptionSource, projectId: string): OptionSource {
  return {
    key: [...source.key, "actions"],
    load: async (search, signal) => {
      const [actions, events] = await Promise.all([
        readActions(projectId, search, signal),
        source.load(search, signal),
      ]);
      const options = actions.results.map((one) => ({
        value: optionOf(one),
        label: one.name,
        description: words.anAction,
      }));
      return [...options, ...events];
    },
  };
}

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
