import { plainName } from "@/ui/properties";
import { words } from "@/words/insightsQuestion";
import { letterOf, type Series, type SeriesEvent } from "./model";

const nameOfEvent = ({ event, action }: SeriesEvent): string =>
  action?.name ?? (event === null ? words.allEvents : plainName(event));

export const nameOfSeries = (series: Series): string =>
  series.name ?? [series, ...(series.others ?? [])].map(nameOfEvent).join(` ${words.or} `);

/** Return a name for each series, with its letter where names are not unique. */
export function namesOfSeries(series: readonly Series[]): string[] {
  const names = series.map(nameOfSeries);
  return names.map((name, place) =>
    names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (${letterOf(place)})`,
  );
}
