import type { Interval } from "@/charts";
import { nameOfEntry, nameOfValue } from "@/insights/kinds/trends/lines";
import { words } from "@/words/alerts";
import { formatNumber, formatShare } from "@/words/format";
import type { Alert, AlertPreview } from "./queries";

type Choice = AlertPreview["choices"][number];

/** The name of a series of the result. */
export function nameOfChoice({ label, breakdown_value: value, is_previous }: Choice): string {
  const name = label === null ? rateOf(value) : nameOfEntry(label, value ?? undefined);
  return is_previous ? words.previous(name) : name;
}

const rateOf = (value: Choice["breakdown_value"]): string =>
  value === null ? words.rate : words.rateOf(nameOfValue(value));

/** The name of the watched series. */
export function nameOfSeries(preview: AlertPreview): string {
  const key = keyOfChoice(preview);
  const choice = preview.choices.find((one) => keyOfChoice(one) === key);
  if (choice !== undefined) return nameOfChoice(choice);
  const value = preview.breakdown_value;
  return value === null ? words.theNumber : nameOfValue(value);
}

/** What tells the series of a result apart. */
export const keyOfChoice = ({
  series_index,
  breakdown_value: value,
}: Pick<Choice, "series_index" | "breakdown_value">): string =>
  JSON.stringify([value === null ? null : [value].flat().map(String), series_index]);

/** Conversion rates are percentages; only their series have no label. */
export const formatOf = (preview: AlertPreview): ((value: number) => string) =>
  preview.choices.some(({ label }) => label === null) ? formatShare : formatNumber;

/** null: a total, which has no intervals */
export const intervalOf = ({ interval, points }: AlertPreview): Interval | null =>
  points.some(({ day }) => day === null) ? null : interval;

/** The condition in words, with the watched value of the breakdown if there is one. */
export function conditionOf(alert: Alert): string {
  const { breakdown_value: value, series_index: index } = alert;
  if (value !== null) return words.conditionFor(words.condition(alert), nameOfValue(value));
  return index > 0
    ? words.conditionOfSeries(words.condition(alert), index + 1)
    : words.condition(alert);
}
