import { ChevronsUpDown, X } from "lucide-react";
import { useId, useRef } from "react";
import { words } from "@/words/inputs";
import { OptionPopover } from "./OptionPopover";
import { type ComboboxProps, useCombobox } from "./useCombobox";

/** A field that completes what is typed out of a list; with one value, or several as chips. */
export function Combobox(props: ComboboxProps) {
  const { label, disabled, error, hint } = props;
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const box = useCombobox(props, `${id}-list`);
  const chosen = props.multiple ? props.value : [];
  const canClear = !props.multiple && props.clearable && props.value !== null && !disabled;
  const described = [error && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(" ");

  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className={props.hideLabel ? "sr-only" : "font-medium"}>
        {label}
      </label>
      <OptionPopover
        id={`${id}-list`}
        label={label}
        isOpen={box.isOpen}
        onOpenChange={box.setOpen}
        list={box}
        mono={props.mono ?? false}
      >
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the input in it has the keys. */}
        <div
          className={`relative flex min-h-[2.25rem] min-w-0 flex-wrap items-center gap-1 rounded-md border bg-panel py-1 ps-2 pe-6 focus-within:outline-2 focus-within:outline-focus focus-within:outline-offset-1 ${error ? "border-bad" : "border-line-strong"} ${disabled ? "opacity-60" : ""}`}
          onMouseDown={(event) => {
            if (event.target !== input.current) event.preventDefault();
            input.current?.focus();
            if (!disabled) box.setOpen(true);
          }}
        >
          {chosen.map((value) => (
            <Chip
              key={value}
              text={box.labelOf(value)}
              mono={props.mono ?? false}
              disabled={disabled ?? false}
              onRemove={() => box.remove(value)}
            />
          ))}
          <input
            ref={input}
            id={id}
            type="text"
            role="combobox"
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            aria-autocomplete="list"
            aria-expanded={box.isOpen}
            aria-controls={`${id}-list`}
            aria-activedescendant={box.activeId}
            aria-invalid={error !== undefined || undefined}
            aria-describedby={described || undefined}
            // biome-ignore lint/a11y/noAutofocus: asked for where a press of a key opened the field.
            autoFocus={props.autoFocus}
            disabled={disabled}
            placeholder={chosen.length === 0 ? props.placeholder : undefined}
            className={`${chosen.length === 0 ? "min-w-16" : "min-w-4"} flex-1 bg-transparent px-0.5 py-0.5 outline-none ${props.mono ? "font-mono text-[0.9em]" : ""}`}
            {...box.inputProps}
          />
          {canClear && (
            <button
              type="button"
              aria-label={words.clear}
              className="rounded p-0.5 text-ink-3 hover:bg-sunken hover:text-ink"
              onMouseDown={(event) => event.stopPropagation()}
              onClick={box.clear}
            >
              <X size={14} aria-hidden />
            </button>
          )}
          <ChevronsUpDown size={14} aria-hidden className="absolute end-1.5 top-2.5 text-ink-3" />
        </div>
      </OptionPopover>
      {hint && (
        <p id={`${id}-hint`} className="text-sm text-ink-3">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="text-sm text-bad">
          {error}
        </p>
      )}
    </div>
  );
}

function Chip(props: { text: string; mono: boolean; disabled: boolean; onRemove: () => void }) {
  return (
    <span className="inline-flex max-w-full items-center gap-0.5 rounded bg-sunken ps-1.5 text-ink">
      <bdi className={`truncate ${props.mono ? "font-mono text-[0.9em]" : ""}`}>{props.text}</bdi>
      <button
        type="button"
        disabled={props.disabled}
        aria-label={words.remove(props.text)}
        className="rounded p-1 text-ink-2 hover:bg-line hover:text-ink"
        onMouseDown={(event) => event.stopPropagation()}
        onClick={props.onRemove}
      >
        <X size={12} aria-hidden />
      </button>
    </span>
  );
}
