import { Asterisk, Copy, EllipsisVertical, Filter, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { type FilterKind, PropertyFilterList } from "@/filters";
import { type MathName, needsProperty } from "@/insights/question/maths";
import type { Series } from "@/insights/question/model";
import { nameOfSeries } from "@/insights/question/seriesName";
import { IconButton } from "@/ui/Button";
import { CONTROL } from "@/ui/classes";
import { Menu, MenuItem } from "@/ui/Menu";
import { words } from "@/words/insightsBuilder";
import { EventPicker } from "./EventPicker";
import { MathField } from "./MathField";

export const CONDITION_KINDS: readonly FilterKind[] = [
  "event",
  "person",
  "group",
  "session",
  "cohort",
  "hogql",
];

interface Props {
  series: Series;
  /** The letter or number of the series. */
  mark: string;
  hasMath: boolean;
  maths?: readonly MathName[];
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
        {(isNaming || series.name !== undefined) && (
          <NameField series={series} label={words.nameOf(mark)} onChange={onChange} />
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
