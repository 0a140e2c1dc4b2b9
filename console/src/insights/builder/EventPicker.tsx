import { useProjectId } from "@/app/session";
import { eventOptions } from "@/events";
import { Combobox, type OptionSource } from "@/ui/combobox";
import { plainName } from "@/ui/properties";
import { words } from "@/words/insightsBuilder";
import { words as questionWords } from "@/words/insightsQuestion";

interface Props {
  label: string;
  /** undefined: nothing is chosen yet; null: any event */
  event: string | null | undefined;
  onChange: (event: string | null) => void;
  error?: string | undefined;
  autoFocus?: boolean;
}

// No event can have this name, because trimmed names are not empty.
const ANY = " ";

/** Chooses one event, or any event. */
export function EventPicker({ label, event, onChange, error, autoFocus = false }: Props) {
  const projectId = useProjectId();
  return (
    <Combobox
      label={label}
      hideLabel
      freeEntry
      placeholder={words.eventPlaceholder}
      options={withAny(eventOptions(projectId))}
      value={event === undefined ? null : (event ?? ANY)}
      labelOf={(value) => (value === ANY ? questionWords.allEvents : plainName(value))}
      onChange={(value) => value !== null && onChange(value === ANY ? null : value)}
      error={error}
      autoFocus={autoFocus}
    />
  );
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
