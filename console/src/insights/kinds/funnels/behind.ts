import { intervalName } from "@/charts";
import { beginOf } from "@/insights/kinds/trends/lines";
import { filtersOf } from "@/insights/question/wire";
import { present } from "@/lib/searchParams";
import { formatNumber } from "@/words/format";
import { words as actorWords } from "@/words/insights";
import { words } from "@/words/insightsFunnels";
import type { Asked, Behind, Place } from "../kind";
import { type Conversion, numberAt, readConversions } from "./conversions";
import { correlationBehind, isOfCorrelation } from "./correlation";
import { optionsOf } from "./options";
import {
  droppedName,
  type Funnel,
  numbered,
  type Part,
  partsOf,
  placeOfPart,
  readFunnels,
  shortened,
} from "./steps";

/** Return the place of the persons who reached a step or dropped out before it. step: zero-based */
export const placeOfStep = (funnel: Funnel, step: number, isDropped: boolean): Place =>
  present<Place>({
    funnel_step: isDropped ? -(step + 1) : step + 1,
    ...placeOfPart(funnel),
  });

/** Return the place of the persons who entered in an interval and did or did not convert. */
export const placeOfConversion = (line: Conversion, index: number, isDropped = false): Place =>
  present<Place>({
    entrance_period_start: line.days[index],
    drop_off: isDropped ? true : undefined,
    ...placeOfPart(line),
  });

export function behindFunnel(asked: Asked, place: Place): Behind | null {
  if (isOfCorrelation(place)) return correlationBehind(asked, place);
  const { visualization } = optionsOf(asked.question);
  if (visualization === "time_to_convert") return null;
  return visualization === "trends" ? behindConversion(asked, place) : behindStep(asked, place);
}

const isAt = (one: Part, place: Place): boolean =>
  JSON.stringify(one.value ?? null) === JSON.stringify(place.funnel_step_breakdown ?? null) &&
  one.isPrevious === (place.compare_label === "previous");

function behindStep(asked: Asked, place: Place): Behind | null {
  const number = Number(place.funnel_step);
  const step = Math.abs(number) - 1;
  const funnel = readFunnels(asked).find((one) => isAt(one, place));
  const name = funnel?.steps[step]?.name;
  if (funnel === undefined || name === undefined || (number < 0 && step === 0)) return null;
  const { reached, dropped } = partsOf(funnel, step);
  const what = number < 0 ? droppedName(funnel, step) : words.reachedStep(numbered(step, name));
  const title = funnel.label === undefined ? what : words.ofValue(what, shortened(funnel.label));
  return behind(asked, place, title, formatNumber(number < 0 ? dropped : reached));
}

function behindConversion(asked: Asked, place: Place): Behind | null {
  const { entrance_period_start: day, drop_off: isDropped } = place;
  const line = readConversions(asked).lines.find((one) => isAt(one, place));
  const index = line?.days.indexOf(String(day)) ?? -1;
  if (line === undefined || index < 0 || typeof day !== "string") return null;
  const { zone } = asked.answer;
  const when = intervalName(beginOf(day, zone), asked.question.interval, zone);
  const what = (isDropped === true ? words.notConvertedIn : words.convertedIn)(when);
  const title = line.label === undefined ? what : words.ofValue(what, shortened(line.label));
  return behind(asked, place, title, formatNumber(numberAt(line, index, isDropped === true)));
}

const behind = (
  { question, answer }: Asked,
  place: Place,
  name: string,
  number: string,
): Behind => ({
  actors: { insight: "FUNNELS", filters: filtersOf(answer.query), place },
  description: actorWords.number(name, number),
  name,
  ofGroups: question.groupTypeIndex !== undefined,
});
