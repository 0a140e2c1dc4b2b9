import { Check } from "lucide-react";
import { useEffect, useRef } from "react";
import { words } from "@/words/inputs";
import type { ComboboxState } from "./useCombobox";

/** The list below the field. The focus stays in the field; the active option is named by its id. */
export function OptionList(props: {
  id: string;
  label: string;
  box: ComboboxState;
  mono: boolean;
}) {
  const { box } = props;
  const list = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (box.activeId === undefined) return;
    document.getElementById(box.activeId)?.scrollIntoView({ block: "nearest" });
  }, [box.activeId]);

  return (
    <>
      <div
        ref={list}
        id={props.id}
        role="listbox"
        aria-label={props.label}
        aria-multiselectable={box.isMultiple || undefined}
        aria-busy={box.isLoading}
        className="max-h-72 overflow-y-auto p-1"
      >
        {box.rows.map((row, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the active option.
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled in the field.
          <div
            key={`${row.kind}:${row.value}`}
            id={box.idOf(index)}
            role="option"
            aria-selected={box.isChosen(row.value)}
            className={`flex items-start gap-2 rounded px-2 py-1 ${index === box.activeIndex ? "bg-sunken" : ""}`}
            onMouseDown={(event) => event.preventDefault()}
            onMouseMove={() => box.activate(index)}
            onClick={() => box.choose(row.value)}
          >
            <Check
              size={14}
              aria-hidden
              className={`mt-1 shrink-0 ${box.isChosen(row.value) ? "text-accent-text" : "opacity-0"}`}
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
      <State box={box} />
    </>
  );
}

function State({ box }: { box: ComboboxState }) {
  const isEmpty = box.rows.length === 0;
  const text = box.isError
    ? words.optionsFailed
    : isEmpty
      ? box.isLoading
        ? words.loading
        : words.noOptions
      : "";
  return (
    <p
      role="status"
      className={
        text === "" ? "sr-only" : `px-3 pb-2 text-sm ${box.isError ? "text-bad" : "text-ink-3"}`
      }
    >
      {text}
    </p>
  );
}
