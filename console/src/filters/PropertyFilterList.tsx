import { Plus, X } from "lucide-react";
import { useRef, useState } from "react";
import { useStableKeys } from "@/lib/hooks";
import { words } from "@/words/filters";
import { emptyFilter, type FilterKind, type FilterUse, type PropertyFilter } from "./model";
import { PropertyFilterEditor } from "./PropertyFilterEditor";
import { filterSentence } from "./sentence";

export interface PropertyFilterListProps {
  /** Accessible name, such as "Conditions of set 1". */
  label: string;
  filters: readonly PropertyFilter[];
  onChange: (filters: PropertyFilter[]) => void;
  use: FilterUse;
  /** The first is what a new condition is of. */
  allowed: readonly FilterKind[];
  /** The group type, for flags of groups. */
  groupTypeIndex?: number;
  event?: string;
  showProblems?: boolean;
  disabled?: boolean;
  addLabel?: string;
  /** The word between conditions; "and" by default. */
  joint?: string;
}

/** Conditions that must all hold, or with another joint any of them. */
export function PropertyFilterList(props: PropertyFilterListProps) {
  const { filters, onChange, allowed, disabled = false } = props;
  const keys = useStableKeys(filters.length);
  const [added, setAdded] = useState<number | null>(null);
  const addButton = useRef<HTMLButtonElement>(null);

  const add = () => {
    setAdded(filters.length);
    onChange([...filters, emptyFilter(allowed[0] ?? "person", props.groupTypeIndex)]);
  };
  const remove = (place: number) => {
    keys.remove(place);
    onChange(filters.filter((_, other) => other !== place));
    // The button that had the focus is gone with its condition.
    addButton.current?.focus();
  };
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="sr-only">{props.label}</legend>
      {filters.length > 0 && (
        <ol className="flex min-w-0 flex-col gap-2">
          {filters.map((filter, place) => (
            <li key={keys.of(place)} className="flex min-w-0 items-start gap-2">
              <span className="w-8 shrink-0 pt-1.5 text-end text-sm text-ink-3">
                {place === 0 ? "" : (props.joint ?? words.and)}
              </span>
              <div className="min-w-0 flex-1">
                <PropertyFilterEditor
                  filter={filter}
                  onChange={(next) =>
                    onChange(filters.map((one, other) => (other === place ? next : one)))
                  }
                  use={props.use}
                  allowed={allowed}
                  {...(props.event !== undefined && { event: props.event })}
                  showProblems={props.showProblems ?? false}
                  disabled={disabled}
                  autoFocus={added === place}
                />
              </div>
              {!disabled && (
                <button
                  type="button"
                  aria-label={words.remove(filterSentence(filter))}
                  className="mt-1 rounded p-1 text-ink-3 hover:bg-sunken hover:text-ink"
                  onClick={() => remove(place)}
                >
                  <X size={15} aria-hidden />
                </button>
              )}
            </li>
          ))}
        </ol>
      )}
      {!disabled && (
        <div>
          <button
            ref={addButton}
            type="button"
            className="inline-flex items-center gap-1 rounded-md px-1.5 py-1 text-sm text-accent-text hover:bg-accent-soft"
            onClick={add}
          >
            <Plus size={14} aria-hidden />
            {props.addLabel ?? words.add}
          </button>
        </div>
      )}
    </fieldset>
  );
}
