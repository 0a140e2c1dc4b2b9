import { type ChangeEvent, type ClipboardEvent, type KeyboardEvent, useState } from "react";
import type { OptionRow } from "./OptionList";
import { type ComboboxOption, type OptionSource, useOptions } from "./options";

interface CommonProps {
  label: string;
  /** Hides the label from sight, such as when a sentence surrounds the field. */
  hideLabel?: boolean;
  /** All options, or the source to search. */
  options: readonly ComboboxOption[] | OptionSource;
  placeholder?: string;
  /** Accepts typed text that is not an option. */
  freeEntry?: boolean;
  disabled?: boolean;
  hint?: string | undefined;
  error?: string | undefined;
  /** Values are code, such as names of properties. */
  mono?: boolean;
  autoFocus?: boolean;
  /** The words for a value that is chosen, where options are asked for. */
  labelOf?: (value: string) => string | undefined;
}

interface SingleProps extends CommonProps {
  multiple?: false;
  value: string | null;
  onChange: (value: string | null) => void;
  /** Lets the user clear the field. */
  clearable?: boolean;
}

interface MultipleProps extends CommonProps {
  multiple: true;
  value: readonly string[];
  onChange: (value: string[]) => void;
}

export type ComboboxProps = SingleProps | MultipleProps;

/** State and keys of a combobox. */
export function useCombobox(props: ComboboxProps, listId: string) {
  const [isOpen, setIsOpen] = useState(false);
  // null while nothing is typed: a single field then shows what is chosen.
  const [typed, setTyped] = useState<string | null>(null);
  const [active, setActive] = useState<number | null>(null);
  // Labels of options seen, since those asked for may be gone from the list.
  const [labels] = useState(() => new Map<string, string>());

  const search = typed ?? "";
  const { options, isLoading, isError } = useOptions(props.options, search, isOpen);
  for (const option of options) if (option.label) labels.set(option.value, option.label);
  const labelOf = (value: string) => props.labelOf?.(value) ?? labels.get(value) ?? value;

  const rows = rowsOf(options, search, props.freeEntry ?? false);
  const activeIndex = active ?? (search.trim() === "" ? null : firstChoice(rows, search.trim()));
  const isChosen = (value: string) =>
    props.multiple ? props.value.includes(value) : props.value === value;

  const setOpen = (next: boolean) => {
    if (props.disabled) return;
    setIsOpen(next);
    setActive(null);
    if (!next && !props.freeEntry) setTyped(null);
  };
  const remove = (value: string) => {
    if (props.multiple) props.onChange(props.value.filter((one) => one !== value));
  };
  const choose = (value: string) => {
    setTyped(null);
    setActive(null);
    if (!props.multiple) {
      props.onChange(value);
      setIsOpen(false);
    } else if (isChosen(value)) remove(value);
    else props.onChange([...props.value, value]);
  };
  const addAll = (values: readonly string[]) => {
    if (!props.multiple) return;
    setTyped(null);
    props.onChange([...new Set([...props.value, ...values])]);
  };
  /** Accepts the typed text when the focus moves to the next field, too. */
  const leave = () => {
    const text = search.trim();
    if (typed !== null && props.freeEntry) {
      if (text !== "" && !isChosen(text)) choose(text);
      else if (text === "" && !props.multiple && props.clearable) props.onChange(null);
    }
    setTyped(null);
    setIsOpen(false);
  };

  const walk = (by: number) => {
    if (!isOpen) return setOpen(true);
    if (rows.length === 0) return;
    const from = activeIndex ?? (by > 0 ? -1 : rows.length);
    setActive((from + by + rows.length) % rows.length);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.nativeEvent.isComposing) return;
    const row = activeIndex === null ? undefined : rows[activeIndex];
    if (event.key === "ArrowDown") walk(1);
    else if (event.key === "ArrowUp") walk(-1);
    else if (event.key === "Enter" && isOpen && row) choose(row.value);
    else if (event.key === "Escape" && isOpen) {
      // Closes only the list, not the dialog around it.
      event.stopPropagation();
      setTyped(null);
      setIsOpen(false);
    } else if (event.key === "Backspace" && search === "" && props.multiple) {
      const last = props.value.at(-1);
      if (last !== undefined) remove(last);
      return;
    } else return;
    event.preventDefault();
  };
  const onPaste = (event: ClipboardEvent<HTMLInputElement>) => {
    const lines = event.clipboardData.getData("text").split(/\r?\n/);
    const values = lines.map((line) => line.trim()).filter((line) => line !== "");
    if (!props.multiple || !props.freeEntry || values.length < 2) return;
    event.preventDefault();
    addAll(values);
  };

  return {
    isOpen,
    setOpen,
    isMultiple: props.multiple ?? false,
    isLoading,
    isError,
    rows,
    activeIndex,
    activeId: isOpen && activeIndex !== null ? `${listId}-${activeIndex}` : undefined,
    idOf: (index: number) => `${listId}-${index}`,
    activate: setActive,
    isChosen,
    labelOf,
    choose,
    remove,
    clear: () => {
      setTyped(null);
      if (!props.multiple) props.onChange(null);
    },
    inputProps: {
      value: typed ?? (props.multiple || props.value === null ? "" : labelOf(props.value)),
      onChange: (event: ChangeEvent<HTMLInputElement>) => {
        setTyped(event.target.value);
        setActive(null);
        setIsOpen(true);
      },
      onKeyDown,
      onPaste,
      onBlur: leave,
      onFocus: (event: { target: HTMLInputElement }) => event.target.select(),
    },
  };
}

function rowsOf(
  options: readonly ComboboxOption[],
  search: string,
  freeEntry: boolean,
): readonly OptionRow[] {
  const rows = options.map(
    (option): OptionRow => ({ kind: "option", ...option, label: option.label ?? option.value }),
  );
  const text = search.trim();
  const isKnown = options.some((option) => option.value === text);
  return freeEntry && text !== "" && !isKnown ? [...rows, { kind: "free", value: text }] : rows;
}

/** Enter takes what was typed where it is an option or may be taken, else the first option. */
function firstChoice(rows: readonly OptionRow[], text: string): number | null {
  const same = rows.findIndex((row) => row.value === text);
  if (same >= 0) return same;
  return rows.length === 0 ? null : 0;
}
