import { createContext, useContext } from "react";
import { formatZoned } from "@/words/format";
import { words } from "@/words/ui";
import { browserZone, offsetMinutes, toLocal } from "./zonedTime";

interface Shown {
  /** Whether seconds are shown. */
  seconds?: boolean;
  /** Whether the zone is named where its clocks differ from the browser's. */
  named?: boolean;
  /** The instant whose date is shown already; by default, now. */
  besides?: string;
}

/** The one rule for times: on the clocks of the project, with the date whenever it is not today. */
export interface Times {
  now: number;
  /** "08:48", "27 Nov 2026, 08:48 (Europe/Berlin)" */
  at: (value: string | Date, shown?: Shown) => string;
  /** With weekday, date, seconds and zone. */
  exact: (value: string | Date) => string;
}

export function timesOf(zone: string, now: number, ownZone: string = browserZone()): Times {
  const dayOf = (value: string | number) => toLocal(new Date(value), zone).slice(0, 10);
  return {
    now,
    at: (value, { seconds = false, named = true, besides } = {}) => {
      const instant = new Date(value);
      const isSameDay = dayOf(instant.getTime()) === dayOf(besides ?? now);
      const text = formatZoned(
        instant,
        zone,
        `${isSameDay ? "time" : "dateAndTime"}${seconds ? "ToSecond" : ""}`,
      );
      const isOther = offsetMinutes(instant, zone) !== offsetMinutes(instant, ownZone);
      return named && isOther ? words.inZone(text, zone) : text;
    },
    exact: (value) => formatZoned(new Date(value), zone, "exact"),
  };
}

export const TimesContext = createContext<Times>(timesOf(browserZone(), Date.now()));

/** The times of the project in the address. */
export const useTimes = (): Times => useContext(TimesContext);
