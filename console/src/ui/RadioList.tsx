import { useId } from "react";

interface Props<T extends string> {
  label: string;
  value: T;
  options: readonly { value: T; label: string; hint: string }[];
  onChange: (value: T) => void;
}

/** One of a few, each with a sentence that says what it means. */
export function RadioList<T extends string>({ label, value, options, onChange }: Props<T>) {
  const name = useId();
  return (
    <fieldset className="flex flex-col gap-1">
      <legend className="mb-1 font-medium">{label}</legend>
      {options.map((one) => (
        <label key={one.value} className="flex items-start gap-2">
          <input
            type="radio"
            name={name}
            checked={value === one.value}
            onChange={() => onChange(one.value)}
            className="mt-1 accent-accent"
          />
          <span>
            {one.label}
            <span className="block text-ink-3 text-sm">{one.hint}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
