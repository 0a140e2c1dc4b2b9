import { plainName } from "@/ui/properties";
import { words } from "@/words/insightsQuestion";
import { letterOf, type Series } from "./model";

export const nameOfSeries = ({ name, event, action }: Series): string =>
  name ?? action?.name ?? (event === null ? words.allEvents : plainName(event));

/** Return a name for each series, with its letter where names are not unique. */
export function namesOfSeries(series: readonly Series[]): string[] {
  const names = series.map(nameOfSeries);
  return names.map((name, place) =>
    names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (${letterOf(place)})`,
  );
}
