import { type ComponentProps, useState } from "react";
import { CONTROL, classes } from "@/ui/classes";

interface NumberInputProps extends Omit<ComponentProps<"input">, "value" | "onChange"> {
  label: string;
  value: number;
  onChange: (value: number) => void;
}

/** A share in percent. What is typed is taken over as soon as it is one; else the last one stays. */
export function ShareInput({ label, value, onChange, className, ...rest }: NumberInputProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const change = (text: string) => {
    setTyped(text);
    const share = readShare(text);
    if (share !== null && share !== value) onChange(share);
  };
  return (
    <input
      {...rest}
      type="text"
      inputMode="decimal"
      aria-label={label}
      aria-invalid={typed !== null && readShare(typed) === null ? true : undefined}
      value={typed ?? String(value)}
      onChange={(event) => change(event.target.value)}
      onFocus={(event) => event.target.select()}
      onBlur={() => setTyped(null)}
      className={classes(CONTROL, "text-right tabular-nums", className)}
    />
  );
}

function readShare(text: string): number | null {
  const share = Number(text.trim().replace(",", ".") || Number.NaN);
  return share >= 0 && share <= 100 ? share : null;
}
