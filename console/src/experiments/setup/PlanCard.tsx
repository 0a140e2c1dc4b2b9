import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { EventPicker, InlineWholeField } from "@/insights";
import { useSettled } from "@/lib/hooks";
import { Disclosure } from "@/ui/Disclosure";
import { Card } from "@/ui/Page";
import { ErrorNote, Skeleton } from "@/ui/States";
import { words } from "@/words/experiments";
import { useUnit } from "../unit";
import { exposureEvent, type Fields, plannedMetric } from "./fields";
import { daysOfPlan, newPlan, type PlanEvent } from "./plan";
import { type Plan, planQuery } from "./queries";

const WORDS = words.plan;
const EFFECT_MAX = 1000;
const DELAY_MS = 400;
const LONG_DAYS = 60;

/** The plan for what is chosen, asked for a moment after each change. */
export function usePlan(fields: Fields) {
  const projectId = useProjectId();
  const [event, setEvent] = useState<PlanEvent>({ isSet: false });
  const seen = event.isSet ? event.event : exposureEvent(fields);
  const asked = newPlan(fields, seen);
  const text = JSON.stringify(asked);
  const settled = useSettled(text, DELAY_MS);
  const query = useQuery({
    ...planQuery(projectId, asked ?? { metric: {} }),
    enabled: asked !== null && settled === text,
  });
  return {
    plan: asked === null || query.isError ? undefined : query.data,
    error: asked === null ? null : query.error,
    isAsking: asked !== null && (settled !== text || query.isFetching),
    hasMetric: asked !== null,
    event: seen,
    setEvent: (next: string | null) => setEvent({ isSet: true, event: next }),
  };
}

interface Props {
  fields: Fields;
  planning: ReturnType<typeof usePlan>;
  onEffect: (effect: number) => void;
}

/** How long the experiment takes, from what people did in the last days. */
export function PlanCard({ fields, planning, onEffect }: Props) {
  const { plan, error, isAsking, hasMetric, event, setEvent } = planning;
  return (
    <Card title={WORDS.title}>
      <div className="flex min-w-0 flex-col gap-3">
        <div aria-busy={isAsking} aria-live="polite">
          {!hasMetric && <p className="text-ink-2">{WORDS.noMetric}</p>}
          {hasMetric && error !== null && <ErrorNote error={error} />}
          {hasMetric && error === null && plan === undefined && <Skeleton rows={2} />}
          {plan !== undefined && <Answer fields={fields} plan={plan} />}
        </div>
        <div className="flex min-w-0 flex-wrap items-center gap-1.5">
          <span>{WORDS.effect[plannedMetric(fields)?.goal ?? "increase"]}</span>
          <InlineWholeField
            label={WORDS.effectLabel}
            className="w-16"
            value={fields.effect}
            least={1}
            most={EFFECT_MAX}
            onChange={onEffect}
          />
          <span aria-hidden>%</span>
        </div>
        <Disclosure summary={WORDS.assumptions}>
          <div className="flex min-w-0 flex-col gap-1">
            <span>{WORDS.people}</span>
            <EventPicker label={WORDS.people} event={event} onChange={setEvent} />
            <p className="text-ink-3 text-sm">{WORDS.peopleHint}</p>
          </div>
        </Disclosure>
      </div>
    </Card>
  );
}

function Answer({ fields, plan }: { fields: Fields; plan: Plan }) {
  const { aggregation_group_type_index: groupType } = fields.parameters;
  const unit = useUnit(typeof groupType === "number" ? groupType : null);
  const [problem] = plan.problems;
  const days = daysOfPlan(plan, fields.rollout);
  const goal = plannedMetric(fields)?.goal ?? "increase";
  if (problem !== undefined || days === null || plan.recommended_sample_size === null)
    return <p className="text-ink-2">{WORDS.problems[problem ?? "no_data"] ?? problem}</p>;
  return (
    <>
      <p className="font-semibold text-lg">{WORDS.finds(fields.effect, goal, days)}</p>
      <p className="text-ink-2">
        {WORDS.needs(plan.recommended_sample_size, fields.variants.length, unit)}
      </p>
      {plan.daily_exposures !== null && (
        <p className="text-ink-3 text-sm">
          {WORDS.basis(plan.daily_exposures, fields.rollout, unit)}
        </p>
      )}
      {days > LONG_DAYS && <p className="text-ink-2 text-sm">{WORDS.long(unit)}</p>}
      <ul className="mt-2 flex flex-col text-ink-2 text-sm">
        {plan.detectable_effects.map(({ weeks, minimum_detectable_effect: least }) =>
          least === null ? null : (
            <li key={weeks}>{WORDS.inWeeks(weeks, scaled(least, fields.rollout))}</li>
          ),
        )}
      </ul>
    </>
  );
}

/** With a share of the people, the least change that can be found is larger. */
const scaled = (effect: number, rollout: number | null): number =>
  rollout === null || rollout === 0 ? effect : effect / Math.sqrt(rollout / 100);
