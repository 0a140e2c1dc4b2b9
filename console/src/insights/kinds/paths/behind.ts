import { filtersOf } from "@/insights/question/wire";
import { plainName } from "@/ui/properties";
import { words as actorWords } from "@/words/insights";
import { words } from "@/words/insightsPaths";
import type { Asked, Behind, Place } from "../kind";
import { type Graph, type Link, readGraph, type Step } from "./graph";

export const placeOfLink = ({ source, target }: Link): Place => ({
  path_start_key: source,
  path_end_key: target,
});

/** Return the place of the paths that reached a step, or for a first step, of those that continued.
 * null: the API cannot ask for them */
export function placeOfStep({ key, column, count, ended, isOther }: Step): Place | null {
  if (isOther) return null;
  if (column > 1) return { path_end_key: key };
  return count > ended ? { path_start_key: key } : placeOfEnd({ key });
}

export const placeOfEnd = ({ key }: Pick<Step, "key">): Place => ({ path_dropoff_key: key });

export function behindPaths({ question, answer }: Asked, place: Place): Behind | null {
  const number = numberAt(readGraph(answer), place);
  if (number === null) return null;
  return {
    actors: { insight: "PATHS", filters: filtersOf(answer.query), place },
    description: actorWords.number(number.name, words.paths(number.count)),
    name: number.name,
    ofGroups: question.groupTypeIndex !== undefined,
  };
}

function numberAt({ steps, links }: Graph, place: Place): { name: string; count: number } | null {
  const { path_start_key: start, path_end_key: end, path_dropoff_key: last } = place;
  const step = steps.find(({ key }) => key === (last ?? end ?? start));
  if (step === undefined) return null;
  const name = nameOfStep(step);
  if (last !== undefined) return { name: words.endedName(name, step.column), count: step.ended };
  if (end === undefined) return { name: words.continued(name), count: step.count - step.ended };
  if (start === undefined) return { name: words.reached(name, step.column), count: step.count };
  const link = links.find(({ source, target }) => source === start && target === end);
  const source = steps.find(({ key }) => key === start);
  if (link === undefined || source === undefined) return null;
  return { name: words.linkName(nameOfStep(source), name), count: link.count };
}

export const nameOfStep = ({ name, isOther }: Step): string =>
  isOther ? words.other : plainName(name);
