import type { SentencePart } from "@/filters";
import { isObject, joined, type Reading } from "@/insights/question/reading";
import { code, text } from "@/insights/question/sentence";
import type { Given } from "@/lib/searchParams";
import { plainName } from "@/ui/properties";
import { words } from "@/words/insightsPaths";

// Names of the server. source: fanion/insights/paths/query.py
export const PART = "funnelPathsFilter";
export const PART_TYPES = [
  "funnel_path_before_step",
  "funnel_path_between_steps",
  "funnel_path_after_step",
] as const;
export type PartType = (typeof PART_TYPES)[number];
const STEPS_MAX = 20;

/** The part of a funnel within which paths lie. */
export interface WithinFunnel {
  type: PartType;
  /** The step that was reached; -k: step k was not reached. */
  step: number;
  /** The query of the funnel; its period and what it counts are those of the paths. */
  funnel: Given;
}

/** Names of the funnel that its paths decide. */
const SHARED = ["dateRange", "aggregation_group_type_index"];

/** Return the part of a funnel in a query or a URL. */
export function readWithin(reading: Reading, given: unknown): WithinFunnel | undefined {
  const sent = reading.object(PART, given);
  if (Object.keys(sent).length === 0) return undefined;
  reading.known(PART, sent, ["funnelPathType", "funnelStep", "funnelSource"]);
  const at = (name: string) => joined(PART, name);
  const type = reading.choice(at("funnelPathType"), sent.funnelPathType, PART_TYPES);
  const step = reading.whole(at("funnelStep"), sent.funnelStep, -STEPS_MAX, STEPS_MAX);
  const funnel = reading.object(at("funnelSource"), sent.funnelSource);
  if (type === undefined || step === undefined || stepsOf(funnel).length === 0) {
    return reading.refuse(PART, given);
  }
  return { type, step, funnel };
}

export const writeWithin = ({ type, step, funnel }: WithinFunnel): Given => ({
  funnelPathType: type,
  funnelStep: step,
  funnelSource: funnel,
});

/** Return the part as a query has it. scope: the shared parts of the paths */
export function withinQuery({ funnel, ...part }: WithinFunnel, scope: Given): Given {
  const own = Object.entries(funnel).filter(
    ([name]) => !SHARED.includes(name) && name !== "compareFilter",
  );
  const shared = SHARED.flatMap((name) => (name in scope ? [[name, scope[name]]] : []));
  return writeWithin({ ...part, funnel: Object.fromEntries([...own, ...shared]) });
}

/** Report what the funnel of a query has other than its paths. */
export function checkShared(reading: Reading, query: Given, { funnel }: WithinFunnel): void {
  for (const name of SHARED) {
    if (JSON.stringify(funnel[name] ?? null) !== JSON.stringify(query[name] ?? null))
      reading.refuse(joined(`${PART}.funnelSource`, name), funnel[name]);
  }
}

/** Return the places of the steps that cannot be skipped, zero-based. */
export const requiredSteps = ({ series }: Given): number[] =>
  (Array.isArray(series) ? series.filter(isObject) : []).flatMap((one, place) =>
    one.optionalInFunnel === true ? [] : [place],
  );

/** Return the names of the funnel's steps. */
export function stepsOf({ series }: Given): string[] {
  if (!Array.isArray(series)) return [];
  return series.filter(isObject).map((one) => {
    const name = one.custom_name ?? one.name ?? one.event;
    return typeof name === "string" ? plainName(name) : words.anyEvent;
  });
}

/** "after reaching step 2, `paid`, of the funnel `seen`, `paid`" */
export function withinParts({ type, step, funnel }: WithinFunnel): readonly SentencePart[] {
  const names = stepsOf(funnel);
  const number = Math.abs(step);
  const opening = step > 0 ? words.reaching[type] : words.dropping[type];
  return [
    text(opening(number)),
    code(names[number - 1] ?? "…"),
    text(words.ofFunnel),
    code(names.join(" → ")),
  ];
}
