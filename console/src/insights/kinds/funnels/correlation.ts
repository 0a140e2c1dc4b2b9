import { isObject } from "@/insights/question/reading";
import { filtersOf, type Query } from "@/insights/question/wire";
import { present } from "@/lib/searchParams";
import { words } from "@/words/insightsFunnels";
import type { Asked, Behind, Place } from "../kind";

export const CORRELATED = ["events", "properties"] as const;
export type Correlated = (typeof CORRELATED)[number];

/** An event, or a property value, that correlates with converting or with dropping out. */
export interface Correlation {
  /** The server's name for it; a property value is written `plan::pro`. */
  name: string;
  converted: number;
  dropped: number;
  odds: number;
}

const QUERY_KIND = "FunnelCorrelationQuery";
const SEPARATOR = "::";

/** Return the query for what correlates with converting in a query's funnel. */
export function correlationQuery(funnel: Query, of: Correlated): Query {
  const { breakdownFilter: _, compareFilter: _____, interval: __, ...source } = funnel;
  const {
    breakdownAttributionType: ___,
    breakdownAttributionValue: ____,
    ...filter
  } = isObject(source.funnelsFilter) ? source.funnelsFilter : {};
  return {
    kind: QUERY_KIND,
    source: { ...source, funnelsFilter: filter },
    funnelCorrelationType: of,
    ...(of === "properties" && { funnelCorrelationNames: ["$all"] }),
  };
}

export function readCorrelations(results: unknown): {
  rows: readonly Correlation[];
  isSkewed: boolean;
} {
  const { events, skewed } = isObject(results) ? results : {};
  const rows = (Array.isArray(events) ? events : []).filter(isObject).map(
    (one): Correlation => ({
      name: String(isObject(one.event) ? one.event.event : ""),
      converted: Number(one.success_count),
      dropped: Number(one.failure_count),
      odds: Number(one.odds_ratio),
    }),
  );
  return { rows, isSkewed: skewed === true };
}

/** Split a property from its value. */
export function propertyOf(name: string): readonly [name: string, value: string] {
  const at = name.indexOf(SEPARATOR);
  return [name.slice(0, at), name.slice(at + SEPARATOR.length)];
}

export function placeOfCorrelation(of: Correlated, name: string, converted: boolean): Place {
  const [key, value] = propertyOf(name);
  return present<Place>({
    funnel_correlation_type: of,
    funnel_correlation_person_converted: converted,
    ...(of === "events"
      ? { funnel_correlation_person_entity: { id: name, type: "events" } }
      : {
          funnel_correlation_names: ["$all"],
          funnel_correlation_property_values: [{ key, value: [value], type: "person" }],
        }),
  });
}

export const isOfCorrelation = (place: Place): boolean => "funnel_correlation_type" in place;

/** Return the persons behind a correlation, which is not part of the funnel's result. */
export function correlationBehind({ question, answer }: Asked, place: Place): Behind | null {
  const named = nameOf(place);
  if (named === null) return null;
  const name = (
    place.funnel_correlation_person_converted === true ? words.convertedWith : words.droppedWith
  )(named);
  const { source } = correlationQuery(answer.query, "events");
  return {
    actors: { insight: "FUNNELS_CORRELATION", filters: filtersOf(source as Query), place },
    description: name,
    name,
    ofGroups: question.groupTypeIndex !== undefined,
  };
}

function nameOf(place: Place): string | null {
  const { funnel_correlation_person_entity: entity } = place;
  if (isObject(entity)) return String(entity.id);
  const { funnel_correlation_property_values: values } = place;
  const [first] = Array.isArray(values) ? values : [];
  return isObject(first) ? words.isValue(String(first.key), String(first.value)) : null;
}
