import { Check } from "lucide-react";
import { useEffect } from "react";
import { words } from "@/words/inputs";
import type { ComboboxOption } from "./options";

export interface OptionRow extends ComboboxOption {
  /** Whether the row is one of the options, or the text that was typed. */
  kind: "option" | "free";
}

/** What a list draws of its field, and does to it. */
export interface OptionListState {
  rows: readonly OptionRow[];
  isMultiple: boolean;
  isLoading: boolean;
  isError: boolean;
  activeIndex: number | null;
  activeId: string | undefined;
  idOf: (index: number) => string;
  isChosen: (value: string) => boolean;
  activate: (index: number) => void;
  choose: (value: string) => void;
}

/** The list below the field. The focus stays in the field; the active option is named by its id. */
export function OptionList(props: {
  id: string;
  label: string;
  list: OptionListState;
  mono: boolean;
}) {
  const { list } = props;

  useEffect(() => {
    if (list.activeId === undefined) return;
    document.getElementById(list.activeId)?.scrollIntoView({ block: "nearest" });
  }, [list.activeId]);

  return (
    <>
      <div
        id={props.id}
        role="listbox"
        aria-label={props.label}
        aria-multiselectable={list.isMultiple || undefined}
        aria-busy={list.isLoading}
        className="max-h-72 overflow-y-auto p-1"
      >
        {list.rows.map((row, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the active option.
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled in the field.
          <div
            key={`${row.kind}:${row.value}`}
            id={list.idOf(index)}
            role="option"
            aria-selected={list.isChosen(row.value)}
            className={`flex items-start gap-2 rounded px-2 py-1 ${index === list.activeIndex ? "bg-sunken" : ""}`}
            onMouseDown={(event) => event.preventDefault()}
            onMouseMove={() => list.activate(index)}
            onClick={() => list.choose(row.value)}
          >
            <Check
              size={14}
              aria-hidden
              className={`mt-1 shrink-0 ${list.isChosen(row.value) ? "text-accent-text" : "opacity-0"}`}
            />
            <span className="min-w-0 flex-1">
              <bdi className={`line-clamp-2 ${props.mono ? "font-mono text-[0.9em]" : ""}`}>
                {row.kind === "free" ? words.takeText(row.value) : row.label}
              </bdi>
              {row.description && (
                <bdi className="block truncate text-sm text-ink-3">{row.description}</bdi>
              )}
            </span>
            {row.hint && (
              <span className="shrink-0 text-sm text-ink-3 tabular-nums">{row.hint}</span>
            )}
          </div>
        ))}
      </div>
      <State list={list} />
    </>
  );
}

function State({ list }: { list: OptionListState }) {
  const isEmpty = list.rows.length === 0;
  const text = list.isError
    ? words.optionsFailed
    : isEmpty
      ? list.isLoading
        ? words.loading
        : words.noOptions
      : "";
  return (
    <p
      role="status"
      className={
        text === "" ? "sr-only" : `px-3 pb-2 text-sm ${list.isError ? "text-bad" : "text-ink-3"}`
      }
    >
      {text}
    </p>
  );
}
