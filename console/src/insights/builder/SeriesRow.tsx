import { Asterisk, Copy, EllipsisVertical, Filter, Pencil, Plus, Trash2, X } from "lucide-react";
import { useState } from "react";
import { type FilterKind, PropertyFilterList } from "@/filters";
import { type MathName, needsProperty } from "@/insights/question/maths";
import type { Series, SeriesEvent } from "@/insights/question/model";
import { nameOfSeries } from "@/insights/question/seriesName";
import { IconButton } from "@/ui/Button";
import { CONTROL } from "@/ui/classes";
import { Menu, MenuItem } from "@/ui/Menu";
import { words } from "@/words/insightsBuilder";
import { EventPicker } from "./EventPicker";
import { MathField } from "./MathField";
import { StepItems, StepOptions } from "./StepOptions";

export const CONDITION_KINDS: readonly FilterKind[] = [
  "event",
  "person",
  "group",
  "session",
  "element",
  "cohort",
  "segment",
  "hogql",
];

/** Events of one series beside its first. source: the server's fanion/insights/entities.py */
const OTHERS_MAX = 19;

interface Props {
  series: Series;
  /** The letter or number of the series. */
  mark: string;
  hasMath: boolean;
  maths?: readonly MathName[];
  /** For the step of a funnel. */
  step?: { canSkip: boolean };
  canAdd: boolean;
  onChange: (series: Series) => void;
  onDuplicate: () => void;
  onRemove: () => void;
  errorAt: (attr: string) => string | undefined;
}

/** One series of the question. */
export function SeriesRow(props: Props) {
  const { series, mark, onChange, errorAt } = props;
  const [isNaming, setNaming] = useState(false);
  const [isFiltered, setFiltered] = useState(series.filters.length > 0);
  const [isJoining, setJoining] = useState(false);
  const [isMultiplied, setMultiplied] = useState(false);
  const label = `${mark} ${nameOfSeries(series)}`;
  return (
    <li className="flex min-w-0 gap-2">
      <span
        aria-hidden
        className="mt-1.5 flex size-6 shrink-0 items-center justify-center rounded bg-sunken font-medium text-ink-2 text-sm"
      >
        {mark}
      </span>
      <div className="flex min-w-0 flex-1 flex-col gap-1.5">
        <div className="flex min-w-0 items-start gap-1">
          <div className="min-w-0 flex-1">
            <EventPicker
              label={`${words.event} ${mark}`}
              event={series.event}
              onChange={(event) => onChange(withEvent(series, event))}
              action={series.action}
              onAction={(action) => onChange({ ...series, event: null, action })}
              error={errorAt("event")}
            />
          </div>
          <Menu trigger={<IconButton icon={EllipsisVertical} label={words.more(label)} />}>
            <MenuItem icon={Filter} onSelect={() => setFiltered(true)}>
              {words.addCondition}
            </MenuItem>
            <MenuItem
              icon={Plus}
              onSelect={() => setJoining(true)}
              disabled={(series.others ?? []).length >= OTHERS_MAX}
            >
              {words.orAnother}
            </MenuItem>
            {props.step && (
              <StepItems series={series} canSkip={props.step.canSkip} onChange={onChange} />
            )}
            <MenuItem icon={Pencil} onSelect={() => setNaming(true)}>
              {words.rename}
            </MenuItem>
            {props.hasMath && props.maths === undefined && needsProperty(series.math) && (
              <MenuItem icon={Asterisk} onSelect={() => setMultiplied(true)}>
                {words.multiply}
              </MenuItem>
            )}
            <MenuItem icon={Copy} onSelect={props.onDuplicate} disabled={!props.canAdd}>
              {words.duplicate}
            </MenuItem>
            <MenuItem icon={Trash2} onSelect={props.onRemove}>
              {words.remove}
            </MenuItem>
          </Menu>
        </div>
        <OtherEvents
          series={series}
          mark={mark}
          isJoining={isJoining}
          onChange={(others) => {
            setJoining(false);
            onChange(withOthers(series, others));
          }}
        />
        {errorAt("nodes") && <p className="text-bad text-sm">{errorAt("nodes")}</p>}
        {(isNaming || series.name !== undefined) && (
          <NameField series={series} label={words.nameOf(mark)} onChange={onChange} />
        )}
        {props.step && (
          <StepOptions
            series={series}
            mark={mark}
            canSkip={props.step.canSkip}
            onChange={onChange}
            errorAt={errorAt}
          />
        )}
        {props.hasMath && (
          <div className="flex min-w-0 flex-wrap gap-1.5">
            <MathField
              series={series}
              onChange={onChange}
              errorAt={errorAt}
              isMultiplied={isMultiplied}
              {...(props.maths !== undefined && { maths: props.maths })}
            />
          </div>
        )}
        {(isFiltered || series.filters.length > 0) && (
          <PropertyFilterList
            label={words.conditionsOf(label)}
            filters={series.filters}
            onChange={(filters) => onChange({ ...series, filters })}
            use="query"
            allowed={CONDITION_KINDS}
            {...(series.event !== null && { event: series.event })}
          />
        )}
        {errorAt("properties") && <p className="text-bad text-sm">{errorAt("properties")}</p>}
      </div>
    </li>
  );
}

/** The further events of a series, any of which counts as well. */
function OtherEvents(props: {
  series: Series;
  mark: string;
  isJoining: boolean;
  onChange: (others: readonly SeriesEvent[]) => void;
}) {
  const { others = [] } = props.series;
  const label = (place: number) => words.orEvent(props.mark, place + 1);
  return (
    <>
      {others.map((one, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pickers keep no state of their own.
        <div key={place} className="flex min-w-0 items-start gap-1">
          <div className="min-w-0 flex-1">
            <EventPicker
              label={label(place)}
              event={one.event}
              onChange={(event) => props.onChange(others.with(place, { event }))}
              action={one.action}
              onAction={(action) => props.onChange(others.with(place, { event: null, action }))}
            />
          </div>
          <IconButton
            icon={X}
            label={words.removeEvent(place + 1)}
            onClick={() => props.onChange(others.toSpliced(place, 1))}
          />
        </div>
      ))}
      {props.isJoining && (
        <EventPicker
          key={others.length}
          label={label(others.length)}
          event={undefined}
          onChange={(event) => props.onChange([...others, { event }])}
          onAction={(action) => props.onChange([...others, { event: null, action }])}
          autoFocus
        />
      )}
    </>
  );
}

function withOthers({ others: _, ...series }: Series, others: readonly SeriesEvent[]): Series {
  return others.length === 0 ? series : { ...series, others };
}

function withEvent({ action: _, ...series }: Series, event: string | null): Series {
  return { ...series, event };
}

function NameField(props: { series: Series; label: string; onChange: (series: Series) => void }) {
  const { name: _, ...others } = props.series;
  return (
    <input
      type="text"
      aria-label={props.label}
      placeholder={props.label}
      value={props.series.name ?? ""}
      onChange={({ target }) =>
        props.onChange(target.value === "" ? others : { ...others, name: target.value })
      }
      className={CONTROL}
    />
  );
}
