import { ChevronsUpDown } from "lucide-react";
import { useSyncExternalStore } from "react";
import { CONTROL, classes } from "@/ui/classes";
import { OptionPopover } from "@/ui/combobox";
import { Field, type FieldParts, type FieldProps, pick } from "@/ui/Field";
import { type Option, useSelect } from "@/ui/useSelect";

export type { Option } from "@/ui/useSelect";

interface SelectProps<T extends string> extends Partial<FieldParts> {
  "aria-label"?: string;
  value: T;
  options: readonly Option<T>[];
  onChange: (value: T) => void;
  disabled?: boolean;
  /** As wide as what is chosen, in a row that reads like a sentence; else as the longest option. */
  isSnug?: boolean;
  className?: string;
}

const fingers = () => matchMedia("(pointer: coarse)");

function onFingers(onChange: () => void): () => void {
  const media = fingers();
  media.addEventListener("change", onChange);
  return () => media.removeEventListener("change", onChange);
}

const useIsTouch = (): boolean => useSyncExternalStore(onFingers, () => fingers().matches);

/** A field to choose one of a list. Needs a label. For fingers the list is the system's own. */
export function Select<T extends string>({ className, ...select }: SelectProps<T>) {
  const isTouch = useIsTouch();
  return (
    <span
      className={classes(
        "relative inline-grid w-full min-w-0 grid-cols-[minmax(0,1fr)] items-center",
        className,
      )}
    >
      {isTouch ? <SystemSelect {...select} /> : <ListSelect {...select} />}
      <ChevronsUpDown
        size={14}
        aria-hidden
        className="pointer-events-none absolute end-2 text-ink-3"
      />
    </span>
  );
}

// The arrow lies above the padding.
const SHAPE = classes(CONTROL, "appearance-none truncate pe-7 text-start");

function ListSelect<T extends string>(props: SelectProps<T>) {
  const { value, options, onChange, isSnug, ...rest } = props;
  const { isOpen, setOpen, listId, list, label, onKeyDown } = useSelect(value, options, onChange);
  const longest = options.map((one) => one.label).toSorted((a, b) => b.length - a.length)[0];
  return (
    <>
      <OptionPopover
        id={listId}
        label={rest["aria-label"] ?? ""}
        isOpen={isOpen}
        onOpenChange={setOpen}
        list={list}
      >
        <button
          type="button"
          role="combobox"
          aria-haspopup="listbox"
          aria-expanded={isOpen}
          aria-controls={listId}
          aria-activedescendant={list.activeId}
          {...rest}
          onClick={() => setOpen(!isOpen)}
          onKeyDown={onKeyDown}
          onBlur={() => setOpen(false)}
          className={SHAPE}
        >
          <bdi>{label}</bdi>
        </button>
      </OptionPopover>
      {!isSnug && (
        <span
          aria-hidden
          data-longest={longest}
          className={classes(
            SHAPE,
            "invisible h-0! border-y-0 py-0! before:content-[attr(data-longest)]",
          )}
        />
      )}
    </>
  );
}

function SystemSelect<T extends string>({ options, onChange, isSnug, ...rest }: SelectProps<T>) {
  const choose = (text: string) => {
    const chosen = options.find((one) => one.value === text);
    if (chosen !== undefined) onChange(chosen.value);
  };
  return (
    <select
      {...rest}
      onChange={(event) => choose(event.target.value)}
      className={classes(SHAPE, isSnug && "field-sizing-content")}
    >
      {options.map((one) => (
        <option key={one.value} value={one.value}>
          {one.label}
        </option>
      ))}
    </select>
  );
}

type SelectFieldProps<T extends string> = Omit<FieldProps, "children" | "label"> &
  SelectProps<T> & { label: string };

export function SelectField<T extends string>(props: SelectFieldProps<T>) {
  const { label, hint, error, isOptional, className, ...select } = props;
  return (
    <Field {...{ label, hint, error }} {...pick({ isOptional, className })}>
      {(parts) => <Select {...select} {...parts} aria-label={label} />}
    </Field>
  );
}
