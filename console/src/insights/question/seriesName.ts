import { plainName } from "@/ui/properties";
import { words } from "@/words/insightsQuestion";
import type { Series } from "./model";

export const nameOfSeries = ({ name, event }: Series): string =>
  name ?? (event === null ? words.allEvents : plainName(event));
