import { useId } from "react";
import { CONTROL } from "@/ui/classes";
import { Select } from "@/ui/Select";
import { words } from "@/words/filters";
import { readRelative, UNITS, writeRelative } from "./dates";

interface Props {
  value: string;
  onChange: (value: string) => void;
  problem: string | undefined;
  disabled: boolean;
}

/** A day, or so long ago where that is possible. */
export function DateValue({ value, onChange, problem, disabled }: Props) {
  const id = useId();
  const relative =
    readRelative(value) ?? (value.startsWith("-") ? { count: 0, unit: "d" as const } : null);
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      {relative === null ? (
        <div>
          <input
            type={value.includes("T") ? "text" : "date"}
            aria-label={words.date}
            aria-invalid={problem !== undefined || undefined}
            aria-describedby={problem === undefined ? undefined : id}
            value={value}
            disabled={disabled}
            onChange={(event) => onChange(event.target.value)}
            className={CONTROL}
          />
        </div>
      ) : (
        <>
          <div className="w-20">
            <input
              type="number"
              min={1}
              max={99999}
              aria-label={words.amount}
              aria-invalid={problem !== undefined || undefined}
              aria-describedby={problem === undefined ? undefined : id}
              value={relative.count === 0 ? "" : relative.count}
              disabled={disabled}
              onChange={(event) =>
                onChange(writeRelative({ ...relative, count: event.target.valueAsNumber || 0 }))
              }
              className={CONTROL}
            />
          </div>
          <div className="max-w-full">
            <Select
              aria-label={words.unit}
              value={relative.unit}
              options={UNITS.map((unit) => ({ value: unit, label: words.unitNames[unit] }))}
              disabled={disabled}
              onChange={(unit) => onChange(writeRelative({ ...relative, unit }))}
            />
          </div>
        </>
      )}
      <div className="max-w-full">
        <Select
          aria-label={words.dateKind}
          value={relative === null ? "fixed" : "relative"}
          options={[
            { value: "fixed", label: words.dateFixed },
            { value: "relative", label: words.dateRelative },
          ]}
          disabled={disabled}
          onChange={(kind) => onChange(kind === "fixed" ? "" : "-7d")}
        />
      </div>
      {problem !== undefined && (
        <p id={id} className="basis-full text-sm text-bad">
          {problem}
        </p>
      )}
    </div>
  );
}
