import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { actionIn, actionOption, actionsQuery, withActions } from "@/actions";
import { useProjectId } from "@/app/session";
import { eventOptions } from "@/events";
import { PropertyFilterList } from "@/filters";
import { Combobox } from "@/ui/combobox";
import { Select } from "@/ui/Select";
import { words } from "@/words/cohorts";
import { CountField, EventWindow, NumberInput, Span } from "./fields";
import { type Behavior, eventFiltersOf, hasEventFilters, type Leaf } from "./model";

const WORDS = words.builder;

interface Props {
  leaf: Leaf;
  kind: Behavior;
  onChange: (leaf: Leaf) => void;
  disabled: boolean;
}

type PartProps = Pick<Props, "leaf" | "onChange">;

/** The part of the sentence after the event, for each kind. */
const ENDS: Record<Behavior, (props: PartProps) => ReactNode> = {
  performed_event: EventWindow,
  performed_event_multiple: (props) => (
    <>
      <CountField {...props} />
      <span>{WORDS.times}</span>
      <EventWindow {...props} />
    </>
  ),
  performed_event_first_time: (props) => (
    <Span {...props} before={WORDS.inTheLast} amount="time_value" unit="time_interval" />
  ),
  performed_event_sequence: (props) => (
    <>
      <Span {...props} before={WORDS.inTheLast} amount="time_value" unit="time_interval" />
      <span>{WORDS.followedBy}</span>
      <EventField {...props} name="seq_event" label={WORDS.nextEvent} />
      <Span {...props} before={WORDS.within} amount="seq_time_value" unit="seq_time_interval" />
    </>
  ),
  performed_event_regularly: (props) => (
    <>
      <CountField {...props} />
      <span>{WORDS.times}</span>
      <Span {...props} before={WORDS.per} amount="time_value" unit="time_interval" />
      <span>{WORDS.inAtLeast}</span>
      <NumberInput {...props} name="min_periods" label={WORDS.periods} />
      <span>{WORDS.ofTheLast}</span>
      <NumberInput {...props} name="total_periods" label={WORDS.totalPeriods} />
      <span>{WORDS.periodsWord}</span>
    </>
  ),
  stopped_performing_event: (props) => (
    <>
      <Span {...props} before={WORDS.inTheLast} amount="time_value" unit="time_interval" />
      <Span
        {...props}
        before={WORDS.butNotInTheLast}
        amount="seq_time_value"
        unit="seq_time_interval"
      />
    </>
  ),
  restarted_performing_event: (props) => (
    <>
      <Span {...props} before={WORDS.longAgo} amount="time_value" unit="time_interval" />
      <Span
        {...props}
        before={WORDS.pausedUntil}
        amount="seq_time_value"
        unit="seq_time_interval"
      />
    </>
  ),
};

/** "did not do [order placed] [at least] [2] times in the last [30] [days]" */
export function BehaviorEditor({ leaf, kind, onChange, disabled }: Props) {
  const End = ENDS[kind];
  return (
    <>
      <Select
        aria-label={WORDS.negation}
        className="w-auto! max-w-full"
        value={leaf.negation === true ? "not" : "did"}
        options={[
          { value: "did", label: WORDS.did },
          { value: "not", label: WORDS.didNotDo },
        ]}
        onChange={(chosen) => {
          const { negation: _, ...others } = leaf;
          onChange(chosen === "not" ? { ...others, negation: true } : others);
        }}
      />
      <EventField leaf={leaf} onChange={onChange} name="key" label={WORDS.event} />
      <End leaf={leaf} onChange={onChange} />
      {hasEventFilters(kind) && (
        <EventFilters leaf={leaf} onChange={onChange} disabled={disabled} />
      )}
      <Hints leaf={leaf} />
    </>
  );
}

/** Fields that name an event or an action, each with the field that says which. */
const TYPE_OF = { key: "event_type", seq_event: "seq_event_type" } as const;

interface EventFieldProps extends PartProps {
  name: keyof typeof TYPE_OF;
  label: string;
}

function EventField({ leaf, onChange, name, label }: EventFieldProps) {
  const projectId = useProjectId();
  const value = leaf[name];
  const isAction = leaf[TYPE_OF[name]] === "actions";
  const actions = useQuery({ ...actionsQuery(projectId, {}), enabled: isAction }).data ?? [];
  const event = typeof value === "string" && value !== "" ? value : null;
  const action = isAction ? nameOf(actions, Number(value)) : null;
  const change = (chosen: string | null) => {
    const found = chosen === null ? null : actionIn(chosen);
    const type = found === null ? "events" : "actions";
    onChange({ ...leaf, [name]: found?.id ?? chosen ?? "", [TYPE_OF[name]]: type });
  };
  return (
    <div className="w-52 max-w-full">
      <Combobox
        label={label}
        hideLabel
        placeholder={WORDS.eventPlaceholder}
        options={withActions(eventOptions(projectId), projectId)}
        value={action === null ? event : actionOption(action)}
        labelOf={(option) => actionIn(option)?.name}
        onChange={change}
        freeEntry
      />
    </div>
  );
}

/** Return an action with its name; its id stands for a name that is not read yet. */
function nameOf(actions: readonly { id: number; name: string }[], id: number) {
  return { id, name: actions.find((one) => one.id === id)?.name ?? String(id) };
}

function EventFilters({ leaf, onChange, disabled }: PartProps & { disabled: boolean }) {
  const filters = eventFiltersOf(leaf);
  return (
    <div className="w-full">
      {filters.length > 0 && <p className="text-ink-2">{WORDS.where}</p>}
      <PropertyFilterList
        label={WORDS.where}
        filters={filters}
        onChange={(next) => {
          const { event_filters: _, ...others } = leaf;
          onChange(next.length > 0 ? { ...others, event_filters: next } : others);
        }}
        use="cohort"
        allowed={["event"]}
        addLabel={WORDS.addWhere}
        disabled={disabled}
        {...(leaf.event_type === "events" &&
          typeof leaf.key === "string" &&
          leaf.key !== "" && { event: leaf.key })}
      />
    </div>
  );
}

/** Hints about rules that people often misread. */
function Hints({ leaf }: { leaf: Leaf }) {
  const isAtMost = leaf.operator === "lte" || leaf.operator === "lt";
  return (
    <>
      {isAtMost && <p className="w-full text-ink-3 text-sm">{WORDS.atMostHint}</p>}
      {leaf.negation === true && <p className="w-full text-ink-3 text-sm">{WORDS.negationHint}</p>}
    </>
  );
}
