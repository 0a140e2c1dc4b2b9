import { Check, CircleDashed, CircleHelp, Minus, X } from "lucide-react";
import type { PropertyFilter } from "@/filters";
import { Badge } from "@/ui/Badge";
import { PropertyValue } from "@/ui/properties";
import { words } from "@/words/flagEditor";
import type { Rules } from "../model";
import type { ExplainedFlag } from "../queries";
import { Sentence } from "../Sentence";
import { type Names, propertyParts } from "../sentence";

type Explained = ExplainedFlag["conditions"][number];
type Compared = Explained["properties"][number];

interface ExplainedAnswerProps {
  title: string;
  explained: ExplainedFlag;
  names: Names;
  /** The rules of this version, which say what was compared. */
  rules: Rules | null;
}

/** The value of one version of a flag and the reason, condition by condition. */
export function ExplainedAnswer({ title, explained, names, rules }: ExplainedAnswerProps) {
  const { value, bucket, conditions } = explained;
  return (
    <section aria-label={title} className="min-w-0 rounded-md border border-line p-3">
      <h3 className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{title}</span>
        <Badge tone={value === false ? "neutral" : value === null ? "warn" : "good"}>
          <bdi>{value === null ? words.noValue : String(value)}</bdi>
        </Badge>
      </h3>
      <p className="mt-1">{reasonText(explained)}</p>
      {bucket !== null && conditions.some((one) => isPartial(one)) && (
        <p className="text-ink-2 text-sm">{words.stands(`${bucket.rollout.toFixed(1)}%`)}</p>
      )}
      {explained.payload !== null && explained.payload !== undefined && (
        <div className="text-ink-2 text-sm">
          {words.withPayload} <PropertyValue value={explained.payload} />
        </div>
      )}
      <ol className="mt-2 flex flex-col gap-2">
        {[...conditions]
          .sort((one, other) => one.position - other.position)
          .map((one) => (
            <ExplainedCondition
              key={one.index}
              condition={one}
              names={names}
              filters={rules?.conditions[one.index]?.properties ?? []}
            />
          ))}
      </ol>
    </section>
  );
}

const isPartial = ({ rollout_percentage: share }: Explained): boolean =>
  share !== null && share > 0 && share < 100;

function reasonText({ reason, problem, condition_index: index }: ExplainedFlag): string {
  if (problem !== null) return words.problem(problem);
  const place = (index ?? 0) + 1;
  const said = words.reasons;
  switch (reason) {
    case "condition_match":
      return said.condition_match(place);
    case "out_of_rollout_bound":
      return said.out_of_rollout_bound(place);
    case "no_condition_match":
    case "disabled":
    case "no_group_type":
    case "super_condition_value":
    case "holdout_condition_value":
      return said[reason];
    default:
      return reason ?? words.noValue;
  }
}

interface ConditionProps {
  condition: Explained;
  names: Names;
  filters: readonly PropertyFilter[];
}

function ExplainedCondition({ condition, names, filters }: ConditionProps) {
  const outcome = outcomeOf(condition);
  return (
    <li className={condition.is_reached ? "text-sm" : "text-ink-3 text-sm"}>
      <p className="flex items-center gap-1.5">
        <outcome.icon aria-hidden className={`size-4 shrink-0 ${outcome.color}`} />
        <span>
          {words.condition(condition.index + 1)} {outcome.text}
          {!condition.is_reached && ` (${words.outcome.notReached})`}
        </span>
      </p>
      <ul className="ml-5.5 flex flex-col">
        {condition.properties.map((one, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: comparisons have no other name than their place.
          <ComparedProperty key={place} compared={one} names={names} filter={filters[place]} />
        ))}
      </ul>
    </li>
  );
}

function outcomeOf({ value, reason, rollout_percentage: share }: Explained) {
  if (reason === "out_of_rollout_bound") {
    return { icon: CircleDashed, color: "text-warn", text: words.outcome.notShare(share ?? 100) };
  }
  if (value === null) return { icon: CircleHelp, color: "text-warn", text: words.outcome.unknown };
  if (value === false) return { icon: Minus, color: "text-ink-3", text: words.outcome.no };
  return { icon: Check, color: "text-good", text: words.outcome.in };
}

interface ComparedProps {
  compared: Compared;
  names: Names;
  filter: PropertyFilter | undefined;
}

function ComparedProperty({ compared: one, names, filter }: ComparedProps) {
  const Icon = one.matches ? Check : one.matches === null ? CircleHelp : X;
  return (
    <li className="flex min-w-0 items-start gap-1.5">
      <Icon
        aria-hidden
        className={`mt-0.5 size-3.5 shrink-0 ${one.matches ? "text-good" : "text-ink-3"}`}
      />
      <span className="min-w-0">
        {filter === undefined ? (
          <code className="font-mono text-[0.9em]">
            <bdi>{one.key}</bdi>
          </code>
        ) : (
          <Sentence parts={propertyParts(filter, names)} />
        )}
        {": "}
        {words.compared} <ComparedValue compared={one} />
      </span>
    </li>
  );
}

function ComparedValue({ compared: one }: { compared: Compared }) {
  if (one.type === "cohort") return <strong>{words.member(one.compared === true)}</strong>;
  if (one.is_set === false) return <strong>{words.isMissing}</strong>;
  return (
    <>
      <strong>
        <PropertyValue value={one.compared} depth={1} />
      </strong>
      {one.source !== null && <span className="text-ink-3"> ({sourceText(one.source)})</span>}
    </>
  );
}

function sourceText(source: string): string {
  const said: Readonly<Record<string, string>> = words.source;
  return said[source] ?? source;
}
