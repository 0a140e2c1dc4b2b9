import type { QueryClient } from "@tanstack/react-query";
import { ALL_KIND_NAMES, QUERY_KINDS, type Question } from "@/insights/question/model";
import { isObject, Reading } from "@/insights/question/reading";
import { type Query, unwrapped } from "@/insights/question/wire";
import { words } from "@/words/insightsBuilder";
import { entryOf, kindQuery } from ".";

export interface ReadQuery {
  /** null if it cannot be shown as a question without changing its meaning. */
  question: Question | null;
  problems: readonly string[];
}

/** Return the question of a pasted or stored API query. */
export async function readQuery(queries: QueryClient, given: unknown): Promise<ReadQuery> {
  const query = unwrapped(given);
  if (!isObject(query)) return { question: null, problems: [words.noObject] };
  const name = ALL_KIND_NAMES.find((one) => QUERY_KINDS[one] === query.kind && entryOf(one));
  if (name === undefined) {
    const known = ALL_KIND_NAMES.filter(entryOf).map((one) => QUERY_KINDS[one]);
    return {
      question: null,
      problems: [words.noQueryKind(String(query.kind ?? ""), known.join(", "))],
    };
  }
  const kind = await queries.fetchQuery(kindQuery(name));
  const reading = new Reading();
  const question = kind.read(query as Query, reading);
  return { question: reading.problems.length === 0 ? question : null, problems: reading.problems };
}
