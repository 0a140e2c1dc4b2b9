import type { KindEntry } from "@/insights/kinds/kind";
import type { KindName } from "@/insights/question/model";
import { words } from "@/words/insightsBuilder";

interface Props {
  kinds: readonly KindEntry[];
  selected: KindName;
  onSelect: (name: KindName) => void;
}

/** The kinds of questions. Switching the kind keeps everything else. */
export function KindTabs({ kinds, selected, onSelect }: Props) {
  return (
    <fieldset className="flex min-w-0 gap-1 overflow-x-auto border-line border-b">
      <legend className="sr-only">{words.kind}</legend>
      {kinds.map(({ name, label, icon: Icon }) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === selected}
          onClick={() => onSelect(name)}
          className="-mb-px inline-flex items-center gap-1.5 whitespace-nowrap border-transparent border-b-2 px-2.5 py-2 text-ink-2 hover:text-ink aria-pressed:border-accent aria-pressed:font-medium aria-pressed:text-ink"
        >
          <Icon aria-hidden className="size-4" />
          {label}
        </button>
      ))}
    </fieldset>
  );
}
