import { intervalName } from "@/charts";
import type { Question } from "@/insights/question/model";
import { nameOfSeries } from "@/insights/question/seriesName";
import { filtersOf } from "@/insights/question/wire";
import { present } from "@/lib/searchParams";
import { formatNumber } from "@/words/format";
import { words as actorWords } from "@/words/insights";
import { words } from "@/words/insightsTrends";
import type { Asked, Behind, Place } from "../kind";
import { beginOf, type Line, linesOf } from "./lines";
import { isOfWeek, optionsOf } from "./options";
import { nameOfLine } from "./table";
import { weekNumber } from "./week";

/** Return the place of a line's number. day: undefined for the whole period */
export const placeOf = (line: Line, day: string | undefined): Place =>
  present<Place>({
    entity_order: line.order,
    day,
    breakdown_value: line.value,
    compare_label: line.isPrevious ? "previous" : undefined,
  });

/** Formulas have no persons behind them. */
export const canOpen = (line: Line): boolean => !line.isFormula;

export function behindTrend({ question, answer }: Asked, place: Place): Behind | null {
  if (isOfWeek(optionsOf(question).display)) return behindWeek({ question, answer }, place);
  const { day } = place;
  const line = linesOf({ question, answer }).find((one) => isAt(one, place));
  if (line === undefined || !canOpen(line)) return null;
  const index = typeof day === "string" ? line.days.indexOf(day) : -1;
  const number = typeof day === "string" ? line.values[index] : line.total;
  if (number === undefined) return null;
  const when =
    typeof day === "string"
      ? intervalName(beginOf(day, answer.zone), question.interval, answer.zone)
      : words.total.toLowerCase();
  const name = words.at(nameOfLine(line), when);
  return {
    actors: { insight: "TRENDS", filters: filtersOf(answer.query), place },
    description: actorWords.number(name, formatNumber(number)),
    name,
    ofGroups: countsGroups(question, line.order),
  };
}

function behindWeek(asked: Asked, place: Place): Behind | null {
  const number = weekNumber(asked, place);
  const [series] = asked.question.series;
  if (number === null || series === undefined) return null;
  const name = words.at(nameOfSeries(series), number.when);
  return {
    actors: { insight: "TRENDS", filters: filtersOf(asked.answer.query), place },
    description: actorWords.number(name, formatNumber(number.value)),
    name,
    ofGroups: countsGroups(asked.question, 0),
  };
}

const countsGroups = ({ series, groupTypeIndex }: Question, order: number): boolean =>
  groupTypeIndex !== undefined || series[order]?.math === "unique_group";

const isAt = (line: Line, place: Place): boolean =>
  JSON.stringify(placeOf(line, undefined)) ===
  JSON.stringify(placeOf({ ...line, ...given(place) }, undefined));

const given = (place: Place): Pick<Line, "order" | "value" | "isPrevious"> => ({
  order: Number(place.entity_order),
  value: place.breakdown_value as Line["value"],
  isPrevious: place.compare_label === "previous",
});
