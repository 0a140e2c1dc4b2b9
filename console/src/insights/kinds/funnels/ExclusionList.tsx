import { Filter, Plus, X } from "lucide-react";
import { useState } from "react";
import { PropertyFilterList } from "@/filters";
import { EventPicker } from "@/insights/builder/EventPicker";
import { CONDITION_KINDS } from "@/insights/builder/SeriesRow";
import type { Question } from "@/insights/question/model";
import { nameOfSeries } from "@/insights/question/seriesName";
import { useStableKeys } from "@/lib/hooks";
import { Button, IconButton } from "@/ui/Button";
import { Select } from "@/ui/Select";
import { words } from "@/words/insightsFunnels";
import type { Exclusion } from "./options";

interface Props {
  question: Question;
  exclusions: readonly Exclusion[];
  onChange: (exclusions: readonly Exclusion[]) => void;
  errorAt: (attr: string) => string | undefined;
}

/** Events between two steps that exclude a person from the funnel. */
export function ExclusionList({ question, exclusions, onChange, errorAt }: Props) {
  const keys = useStableKeys(exclusions.length);
  const [isAdding, setAdding] = useState(false);
  const last = question.series.length - 1;
  if (last < 1) return null;
  return (
    <fieldset className="flex min-w-0 flex-col gap-3">
      <legend className="mb-1 font-medium">{words.exclusions}</legend>
      {exclusions.map((one, place) => (
        <ExclusionRow
          key={keys.of(place)}
          exclusion={one}
          place={place}
          last={last}
          onChange={(next) => onChange(exclusions.with(place, next))}
          onRemove={() => {
            keys.remove(place);
            onChange(exclusions.toSpliced(place, 1));
          }}
          errorAt={(attr) => errorAt(`funnelsFilter__exclusions__${place}__${attr}`)}
        />
      ))}
      {isAdding ? (
        <EventPicker
          label={words.addExclusion}
          event={undefined}
          onChange={(event) => {
            setAdding(false);
            onChange([...exclusions, { entity: { event, filters: [] }, from: 0, to: last }]);
          }}
          autoFocus
        />
      ) : (
        <div>
          <Button small look="quiet" icon={Plus} onClick={() => setAdding(true)}>
            {words.addExclusion}
          </Button>
        </div>
      )}
    </fieldset>
  );
}

interface RowProps {
  exclusion: Exclusion;
  place: number;
  /** The last step, zero-based. */
  last: number;
  onChange: (exclusion: Exclusion) => void;
  onRemove: () => void;
  errorAt: (attr: string) => string | undefined;
}

function ExclusionRow({ exclusion, place, last, onChange, onRemove, errorAt }: RowProps) {
  const { entity, from, to } = exclusion;
  const { action: _, ...others } = entity;
  const [isFiltered, setFiltered] = useState(entity.filters.length > 0);
  const name = nameOfSeries({ ...entity, math: "total" });
  const error = ["event", "id", "funnelFromStep", "funnelToStep", "properties"]
    .map(errorAt)
    .find((one) => one);
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      <div className="flex min-w-0 items-start gap-1">
        <div className="min-w-0 flex-1">
          <EventPicker
            label={words.exclusion(place + 1)}
            event={entity.event}
            onChange={(event) => onChange({ ...exclusion, entity: { ...others, event } })}
            action={entity.action}
            onAction={(action) =>
              onChange({ ...exclusion, entity: { ...entity, event: null, action } })
            }
          />
        </div>
        <IconButton
          icon={Filter}
          label={words.addConditionTo(name)}
          onClick={() => setFiltered(true)}
        />
        <IconButton icon={X} label={words.removeExclusion(name)} onClick={onRemove} />
      </div>
      <div className="flex min-w-0 flex-wrap items-center gap-1.5 text-ink-2">
        <span>{words.exclusionFrom}</span>
        <StepSelect
          label={words.exclusionFromOf(name)}
          value={from}
          least={0}
          most={last - 1}
          onChange={(next) => onChange({ ...exclusion, from: next, to: Math.max(to, next + 1) })}
        />
        <span>{words.exclusionTo}</span>
        <StepSelect
          label={words.exclusionToOf(name)}
          value={to}
          least={1}
          most={last}
          onChange={(next) => onChange({ ...exclusion, to: next, from: Math.min(from, next - 1) })}
        />
      </div>
      {(isFiltered || entity.filters.length > 0) && (
        <PropertyFilterList
          label={words.conditionsOfExclusion(name)}
          filters={entity.filters}
          onChange={(filters) => onChange({ ...exclusion, entity: { ...entity, filters } })}
          use="query"
          allowed={CONDITION_KINDS}
          {...(entity.event !== null && { event: entity.event })}
        />
      )}
      {error && (
        <p role="alert" className="text-bad text-sm">
          {error}
        </p>
      )}
    </div>
  );
}

interface StepSelectProps {
  label: string;
  /** Zero-based. A step that the funnel no longer has is shown too. */
  value: number;
  least: number;
  most: number;
  onChange: (value: number) => void;
}

/** Chooses a step by its number. */
export function StepSelect({ label, value, least, most, onChange }: StepSelectProps) {
  const steps = Array.from({ length: Math.max(most - least + 1, 0) }, (_, place) => least + place);
  const all = steps.includes(value) ? steps : [...steps, value];
  return (
    <Select
      isSnug
      className="w-auto!"
      aria-label={label}
      value={String(value)}
      options={all.map((step) => ({ value: String(step), label: String(step + 1) }))}
      onChange={(next) => onChange(Number(next))}
    />
  );
}
