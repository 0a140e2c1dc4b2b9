import { counted } from "@/words/format";

const UNITS: Record<string, readonly [one: string, many: string]> = {
  h: ["hour", "hours"],
  d: ["day", "days"],
  w: ["week", "weeks"],
  m: ["month", "months"],
  q: ["quarter", "quarters"],
  y: ["year", "years"],
};

export const words = {
  period: "Period",
  button: (name: string) => `Period: ${name}`,
  /** Bounds, in the order from and to. */
  presets: {
    "": "All time",
    "-1h": "Last hour",
    "-24h": "Last 24 hours",
    dStart: "Today",
    "-1dStart -1dEnd": "Yesterday",
    "-7d": "Last 7 days",
    "-30d": "Last 30 days",
    "-90d": "Last 90 days",
    mStart: "This month",
    "-1mStart -1mEnd": "Last month",
    "-12m": "Last 12 months",
  },
  last: (count: number, unit: string) => {
    const [one = unit, many = unit] = UNITS[unit] ?? [];
    return `Last ${counted(count, one, many)}`;
  },
  since: (day: string) => `Since ${day}`,
  until: (day: string) => `Until ${day}`,
  between: (from: string, to: string) => `${from} – ${to}`,
  withPrevious: (name: string) => `${name}, compared`,
  from: "From",
  to: "To",
  apply: "Apply",
  reversed: "The first day must not be after the last.",
  none: "Choose a day.",
  compare: "Compare with the previous period",
  previous: (name: string) => `${name} (previous period)`,
  zone: (zone: string) => `Days begin at midnight in ${zone}.`,
  unknown: (name: string) =>
    `The period in the address is not valid. Shown instead: ${name.toLowerCase()}.`,
} as const;
