import { Search, X } from "lucide-react";
import { Switch as RadixSwitch } from "radix-ui";
import { type ComponentProps, type ReactNode, useId } from "react";
import { CONTROL, classes } from "@/ui/classes";
import { words } from "@/words/ui";

export interface FieldParts {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

export interface FieldProps {
  label: ReactNode;
  /** One sentence that says what belongs here. */
  hint?: ReactNode;
  error?: ReactNode;
  isOptional?: boolean;
  className?: string;
  /** Draws the control; the parts tie it to its label, hint and error. */
  children: (parts: FieldParts) => ReactNode;
}

/** A label with its control, hint and error. */
export function Field({ label, hint, error, isOptional, className, children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className={classes("flex min-w-0 flex-col gap-1", className)}>
      <label htmlFor={id} className="font-medium">
        {label}
        {isOptional && <span className="ml-1.5 font-normal text-ink-3">{words.optional}</span>}
      </label>
      {children({
        id,
        "aria-describedby": described || undefined,
        "aria-invalid": error ? true : undefined,
      })}
      {hint && (
        <p id={`${id}-hint`} className="text-ink-3 text-sm">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="text-bad text-sm" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

type TextFieldProps = Omit<FieldProps, "children"> & Omit<ComponentProps<"input">, "children">;

/** A field of one line. */
export function TextField({ label, hint, error, isOptional, className, ...input }: TextFieldProps) {
  return (
    <Field {...{ label, hint, error }} {...pick({ isOptional, className })}>
      {(parts) => <input type="text" {...input} {...parts} className={CONTROL} />}
    </Field>
  );
}

type TextAreaProps = Omit<FieldProps, "children"> & Omit<ComponentProps<"textarea">, "children">;

export function TextAreaField({
  label,
  hint,
  error,
  isOptional,
  className,
  ...area
}: TextAreaProps) {
  return (
    <Field {...{ label, hint, error }} {...pick({ isOptional, className })}>
      {(parts) => <textarea rows={3} {...area} {...parts} className={CONTROL} />}
    </Field>
  );
}

interface CheckboxProps extends Omit<ComponentProps<"input">, "onChange" | "children"> {
  label: ReactNode;
  hint?: ReactNode;
  onChange: (checked: boolean) => void;
}

export function Checkbox({ label, hint, onChange, className, ...rest }: CheckboxProps) {
  return (
    <label className={classes("flex items-start gap-2", className)}>
      <input
        type="checkbox"
        {...rest}
        onChange={(event) => onChange(event.target.checked)}
        className="mt-0.5 size-4 shrink-0 accent-accent"
      />
      <span>
        {label}
        {hint && <span className="block text-ink-3 text-sm">{hint}</span>}
      </span>
    </label>
  );
}

interface SwitchProps {
  label: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
  disabled?: boolean;
  /** Whether the label is visible, or only read by screen readers. */
  showsLabel?: boolean;
}

export function Switch({ label, isOn, onChange, disabled = false, showsLabel }: SwitchProps) {
  const id = useId();
  return (
    <span className="inline-flex items-center gap-2">
      <RadixSwitch.Root
        id={id}
        checked={isOn}
        disabled={disabled}
        onCheckedChange={onChange}
        aria-label={showsLabel ? undefined : label}
        className="inline-flex h-5 w-9 shrink-0 items-center rounded-full border border-line-strong bg-sunken px-0.5 data-[state=checked]:border-good data-[state=checked]:bg-good disabled:opacity-50"
      >
        <RadixSwitch.Thumb className="size-3.5 rounded-full bg-ink-2 transition-transform data-[state=checked]:translate-x-4 data-[state=checked]:bg-panel" />
      </RadixSwitch.Root>
      {showsLabel && <label htmlFor={id}>{label}</label>}
    </span>
  );
}

interface SearchInputProps extends Omit<ComponentProps<"input">, "onChange" | "value"> {
  label?: string;
  value: string;
  onChange: (text: string) => void;
}

/** The filter of a screen: `/` goes to it. */
export function SearchInput({
  label = words.search,
  value,
  onChange,
  className,
  ...rest
}: SearchInputProps) {
  return (
    <div className={classes("relative max-sm:w-full!", className ?? "w-64 max-w-full")}>
      <Search
        aria-hidden
        className="-translate-y-1/2 absolute top-1/2 left-2.5 size-4 text-ink-3"
      />
      <input
        type="search"
        data-filter
        {...rest}
        aria-label={label}
        placeholder={rest.placeholder ?? label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className={classes(CONTROL, "px-8 [&::-webkit-search-cancel-button]:hidden")}
      />
      {value !== "" && (
        <button
          type="button"
          aria-label={words.clear}
          onClick={() => onChange("")}
          className="-translate-y-1/2 absolute top-1/2 right-1.5 rounded p-1 text-ink-3 hover:text-ink"
        >
          <X aria-hidden className="size-3.5" />
        </button>
      )}
    </div>
  );
}

/** Return the object without undefined values, as exact optional properties require. */
export function pick<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
