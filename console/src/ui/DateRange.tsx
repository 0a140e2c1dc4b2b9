import { CalendarDays, ChevronsUpDown } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Button } from "@/ui/Button";
import { CONTROL, classes } from "@/ui/classes";
import { Checkbox, TextField } from "@/ui/Field";
import { Popover } from "@/ui/Popover";
import { words } from "@/words/dateRange";
import {
  type DateRange,
  isDay,
  isSameRange,
  nameOfRange,
  type Preset,
  type RangeSearch,
  type ReadRange,
  rangeOfPreset,
} from "./ranges";

interface Props {
  value: ReadRange;
  /** The project's, in which days begin. */
  zone: string;
  presets: readonly Preset[];
  /** Whether the screen can show the period before it, too. */
  canCompare?: boolean;
  onChange: (search: RangeSearch) => void;
}

/** The period of a screen: one that moves along, or fixed days of the project's time zone. */
export function DateRangeField({ value, zone, presets, canCompare = false, onChange }: Props) {
  const [isOpen, setOpen] = useState(false);
  const { range, isCompared, isUnknown } = value;
  const compare: RangeSearch = isCompared ? { compare: true } : {};
  const name = nameOfRange(range);
  const choose = (next: DateRange) => {
    setOpen(false);
    onChange({ ...next, ...compare });
  };
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
      <Popover
        label={words.period}
        isOpen={isOpen}
        onOpenChange={setOpen}
        className="w-[26rem]"
        trigger={
          <button
            type="button"
            aria-label={words.button(isCompared ? words.withPrevious(name) : name)}
            className={classes(CONTROL, "flex w-auto! min-w-0 items-center gap-2")}
          >
            <CalendarDays size={15} aria-hidden className="shrink-0 text-ink-3" />
            <span className="truncate">{isCompared ? words.withPrevious(name) : name}</span>
            <ChevronsUpDown size={14} aria-hidden className="-me-0.5 shrink-0 text-ink-3" />
          </button>
        }
      >
        <div className="grid gap-3 sm:grid-cols-[9.5rem_1fr] sm:gap-4">
          <ul className="flex flex-wrap gap-1 sm:flex-col">
            {presets.map((preset) => (
              <li key={preset}>
                <PresetButton
                  name={words.presets[preset]}
                  isChosen={isSameRange(rangeOfPreset(preset), range)}
                  onChoose={() => choose(rangeOfPreset(preset))}
                />
              </li>
            ))}
          </ul>
          <div className="flex min-w-0 flex-col gap-3">
            <Days range={range} onChoose={choose} />
            {canCompare && (
              <Checkbox
                label={words.compare}
                checked={isCompared}
                onChange={(isOn) => onChange({ ...range, ...(isOn && { compare: true }) })}
              />
            )}
            <p className="text-ink-3 text-sm">{words.zone(zone)}</p>
          </div>
        </div>
      </Popover>
      {isUnknown && (
        <p role="status" className="text-sm text-warn">
          {words.unknown(name)}
        </p>
      )}
    </div>
  );
}

function PresetButton(props: { name: string; isChosen: boolean; onChoose: () => void }) {
  return (
    <button
      type="button"
      aria-pressed={props.isChosen}
      onClick={props.onChoose}
      className="w-full rounded-md px-2 py-1 text-start hover:bg-sunken aria-pressed:bg-accent-soft aria-pressed:text-accent-text"
    >
      {props.name}
    </button>
  );
}

function Days({ range, onChoose }: { range: DateRange; onChoose: (range: DateRange) => void }) {
  const dayOf = (bound: string | undefined) => (bound !== undefined && isDay(bound) ? bound : "");
  const [from, setFrom] = useState(() => dayOf(range.from));
  const [to, setTo] = useState(() => dayOf(range.to));
  const [error, setError] = useState<string>();
  const apply = (event: FormEvent) => {
    event.preventDefault();
    // The form may be drawn within that of a screen.
    event.stopPropagation();
    if (from === "" && to === "") setError(words.none);
    else if (from !== "" && to !== "" && from > to) setError(words.reversed);
    else onChoose({ ...(from !== "" && { from }), ...(to !== "" && { to }) });
  };
  return (
    <form onSubmit={apply} noValidate className="flex min-w-0 flex-col gap-2">
      <TextField
        label={words.from}
        type="date"
        value={from}
        onChange={(event) => setFrom(event.target.value)}
      />
      <TextField
        label={words.to}
        type="date"
        value={to}
        error={error}
        onChange={(event) => setTo(event.target.value)}
      />
      <div>
        <Button type="submit">{words.apply}</Button>
      </div>
    </form>
  );
}
