import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { indexOfMoment, type MomentMark } from "@/charts";
import { type AnnotatedPlace, useAnnotatedPlace } from "./place";
import { type Annotation, annotationsQuery } from "./queries";

const NONE: readonly Annotation[] = [];

/** The annotations of the intervals that a chart shows, in the order of time.
 *
 * times: beginnings of the intervals
 */
export function useAnnotations(times: readonly Date[]): readonly Annotation[] {
  const place = useAnnotatedPlace();
  const [from, to] = boundsOf(times);
  const found = useQuery({
    ...annotationsQuery(place?.projectId ?? "", { date_from: from, date_to: to }),
    enabled: place !== null && times.length > 0,
  });
  const all = found.data ?? NONE;
  return useMemo(() => {
    const shown = place === null ? NONE : all.filter((one) => isShown(one, place));
    // A chart is drawn again for another list.
    return shown.length === 0 ? NONE : shown.toReversed();
  }, [all, place]);
}

/** The annotations as marks of a chart, which are the same as long as the annotations are. */
export const useMarks = (annotations: readonly Annotation[]): readonly MomentMark[] =>
  useMemo(
    () => annotations.map((one) => ({ at: new Date(one.date_marker), text: one.content })),
    [annotations],
  );

/** The texts of the annotations of each interval. */
export const notesOf = (
  annotations: readonly Annotation[],
  begins: readonly Date[],
): readonly (readonly string[])[] =>
  begins.map((_, index) =>
    annotations
      .filter((one) => indexOfMoment(begins, new Date(one.date_marker)) === index)
      .map(({ content }) => content),
  );

/** The first instant of the first interval, and the last one of the last. */
function boundsOf(times: readonly Date[]): [string, string] {
  const [first, last] = [times[0]?.getTime() ?? 0, times.at(-1)?.getTime() ?? 0];
  const step = last - (times.at(-2)?.getTime() ?? last - DAY_MS);
  return [new Date(first).toISOString(), new Date(last + step - 1).toISOString()];
}

const DAY_MS = 24 * 60 * 60_000;

function isShown(annotation: Annotation, { insightId, dashboardId }: AnnotatedPlace): boolean {
  const { scope, dashboard_item: insight, dashboard_id: dashboard } = annotation;
  if (scope === "dashboard_item") return insight === insightId;
  if (scope === "dashboard") return dashboard === dashboardId;
  return true;
}
