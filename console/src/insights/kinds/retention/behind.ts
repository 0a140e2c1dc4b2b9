import { intervalName } from "@/charts";
import { nameOfSeries } from "@/insights/question/seriesName";
import { filtersOf } from "@/insights/question/wire";
import { present } from "@/lib/searchParams";
import { formatNumber } from "@/words/format";
import { words as actorWords } from "@/words/insights";
import { words } from "@/words/insightsRetention";
import type { Asked, Behind, Place } from "../kind";
import { type Cohort, readCohorts } from "./cohorts";
import { optionsOf, showsValues, spanOf } from "./options";
import { entitiesOf, periodOf } from "./query";

/** Return the place of a cohort's number. place: 0 for the whole cohort */
export const placeOf = (cohort: Cohort, place: number): Place =>
  present<Place>({
    selected_interval: cohort.row,
    returning_interval: place,
    breakdown_value: cohort.value,
  });

export function behindRetention({ question, answer }: Asked, place: Place): Behind | null {
  const period = periodOf(question);
  const ahead = Number(place.returning_interval ?? 0);
  const cohort = readCohorts(answer, question).find(
    (one) => JSON.stringify(placeOf(one, ahead)) === JSON.stringify(inOrder(place, ahead)),
  );
  const count = cohort?.counts[ahead];
  const { target, returning } = entitiesOf(question);
  if (cohort === undefined || count === undefined || target === undefined) return null;
  const when = intervalName(cohort.begin, period, answer.zone);
  const first = [nameOfSeries(target), cohort.name, when]
    .filter((part) => part !== null)
    .join(", ");
  const name =
    ahead === 0 || returning === undefined
      ? first
      : words.number(
          first,
          nameOfSeries(returning),
          words.after(period, spanOf(optionsOf(question), ahead)),
        );
  return {
    actors: { insight: "RETENTION", filters: filtersOf(answer.query), place },
    description: actorWords.number(
      name,
      showsValues(optionsOf(question))
        ? words.valueOf(formatNumber(cohort.numbers[ahead] ?? 0), unitOf(question), count)
        : formatNumber(count),
    ),
    name,
    ofGroups: question.groupTypeIndex !== undefined,
  };
}

const unitOf = ({ groupTypeIndex }: Asked["question"]): string =>
  groupTypeIndex === undefined ? words.size : words.sizeOfGroups;

/** A URL may list the parts of a place in any order. */
const inOrder = (place: Place, ahead: number): Place =>
  present<Place>({
    selected_interval: Number(place.selected_interval),
    returning_interval: ahead,
    breakdown_value: place.breakdown_value,
  });
