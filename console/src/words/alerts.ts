import { counted, formatDuration, formatNumber, formatShare } from "@/words/format";

type Condition = "above" | "below" | "changes_by" | "changes_by_percent";

interface Fires {
  condition: Condition;
  threshold: number;
}

const AMOUNT = {
  above: formatNumber,
  below: formatNumber,
  changes_by: formatNumber,
  changes_by_percent: formatShare,
} as const;

const amountOf = ({ condition, threshold }: Fires): string => AMOUNT[condition](threshold);

const IS: Readonly<Record<Condition, (amount: string) => string>> = {
  above: (amount) => `is above ${amount}`,
  below: (amount) => `is below ${amount}`,
  changes_by: (amount) => `changes by ${amount} or more`,
  changes_by_percent: (amount) => `changes by ${amount} or more`,
};

const LAST: Readonly<Record<Condition, (interval: string) => string>> = {
  above: (interval) => `in the last complete ${interval} or the current one`,
  below: (interval) => `in the last complete ${interval}`,
  changes_by: (interval) => `from one complete ${interval} to the next`,
  changes_by_percent: (interval) => `from one complete ${interval} to the next`,
};

export const words = {
  title: "Alerts",
  description: "Alerts watch a number of a saved insight.",
  back: "All alerts of this insight",
  create: "New alert",
  none: "No alerts yet",
  noneHint:
    "An alert watches a number of this insight, and tells webhooks and people when it crosses a threshold.",
  noneInProject: "No alerts yet",
  noneInProjectHint: "Open a saved insight, and add an alert in its tab Alerts.",
  noMatch: "No alert matches.",
  search: "Search alerts",
  stateFilter: "State",
  anyState: "Any state",
  csvName: "alerts.csv",
  gone: "This alert does not exist, or was deleted.",
  states: {
    firing: "Firing",
    not_firing: "Not firing",
    errored: "Error",
    not_checked: "Not checked yet",
    snoozed: "Snoozed",
    off: "Off",
  },
  columns: {
    state: "State",
    name: "Name",
    insight: "Insight",
    condition: "Fires when the number",
    value: "Last value",
    checked: "Last check",
    schedule: "Schedule",
    enabled: "On",
    actions: "Actions",
  },
  enabledOf: (name: string) => `${name} is on`,
  condition: (alert: Fires): string => IS[alert.condition](amountOf(alert)),
  conditionFor: (condition: string, value: string) => `${condition}, for ${value}`,
  conditionOfSeries: (condition: string, place: number) => `${condition}, series ${place}`,
  /** "Fires when paid per day is above 10, in the last complete day or the current one." */
  sentence: (what: string, alert: Fires, interval: string | null): string => {
    const when = interval === null ? "" : `, ${LAST[alert.condition](interval)}`;
    return `Fires when ${what} ${IS[alert.condition](amountOf(alert))}${when}.`;
  },
  per: (what: string, interval: string) => `${what} per ${interval}`,
  theNumber: "the number",
  rate: "Conversion rate",
  rateOf: (value: string) => `Conversion rate of ${value}`,
  previous: (label: string) => `${label}, previous period`,
  absent: (label: string) => `${label} (not in the result)`,
  every: (seconds: number) => `Every ${formatDuration(seconds)}`,
  schedule: "Schedule",
  next: "next check",
  lastCheck: "Last check",
  lastValue: "Last value",
  lastError: "Last error",
  by: "Created by",
  mailTo: "Mail to",
  nobody: "nobody",
  edit: "Edit",
  more: "More actions",
  snooze: "Snooze",
  snoozeFor: { 1: "For an hour", 24: "For a day", 168: "For a week" },
  snoozedUntil: "Snoozed until",
  endSnooze: "End snooze",
  snoozed: (name: string) => `${name} snoozed`,
  snoozeEnded: (name: string) => `${name} is no longer snoozed`,
  remove: "Delete",
  removeTitle: "Delete this alert?",
  removeHint: "Its history is deleted too. This cannot be undone.",
  removed: (name: string) => `${name} deleted`,
  saved: "Alert saved",
  created: "Alert created",
  save: "Save",
  cancel: "Cancel",
  editTitle: "Edit alert",
  name: "Name",
  number: "Number to watch",
  fires: "Fires when the number",
  conditions: {
    above: "is above",
    below: "is below",
    changes_by: "changes by at least",
    changes_by_percent: "changes by at least, in %",
  } satisfies Record<Condition, string>,
  conditionHints: {
    above: "The last complete interval and the current one are looked at.",
    below: "The last complete interval is looked at, since the current one is still growing.",
    changes_by: "The last complete interval is compared with the one before it, up or down.",
    changes_by_percent:
      "The last complete interval is compared with the one before it, up or down.",
  } satisfies Record<Condition, string>,
  threshold: "Threshold",
  needsThreshold: "With a threshold, this shows whether the alert would fire now.",
  notANumber: "Enter a number.",
  emails: "Send a mail to",
  emailsHint: "When the alert starts firing and when it stops.",
  addMember: "Add a member",
  noMail:
    "This server has no mail server (FANION_SMTP_URL), so no mail is sent. Webhooks work without it.",
  webhooks: (count: number) =>
    count === 0
      ? "No webhook of this project is told about alerts."
      : `${counted(count, "webhook is", "webhooks are")} called when the alert starts firing and when it stops.`,
  webhooksOfAdmins:
    "Webhooks with the event insight.alert are called when the alert starts firing and when it stops. Administrators set them up.",
  toWebhooks: "Webhooks",
  told: "Who is told",
  preview: "If it were checked now",
  wouldFire: (value: string, condition: string) => `It would fire now: ${value} ${condition}.`,
  wouldNotFire: (value: string, condition: string) =>
    `It would not fire now: ${value} does not meet “${condition}”.`,
  wouldFail: (error: string) => `It could not be checked now: ${error}`,
  after: (value: string, before: string) => `${value} after ${before}`,
  limit: "Threshold",
  firesAt: (name: string, condition: "above" | "below") => `Alert “${name}”, fires ${condition}`,
  lowerLimit: "Fires at or below",
  upperLimit: "Fires at or above",
  total:
    "This number is a total of the whole period, so there is one value to compare and no line to draw.",
  history: "History of checks",
  historyHint: "The last 1,000 checks.",
  noHistory: "Not checked yet",
  checkColumns: {
    at: "Checked",
    state: "State",
    value: "Value",
    told: "Notified",
    error: "Error",
  },
  notified: (webhooks: number, mails: number): string =>
    [
      ...(webhooks > 0 ? [counted(webhooks, "webhook", "webhooks")] : []),
      ...(mails > 0 ? [counted(mails, "mail", "mails")] : []),
    ].join(", "),
  checksCsv: "alert checks.csv",
  insightDeleted: "deleted, so it is not checked",
  viewerHint: "Viewers cannot change alerts.",
  intervals: {
    minute: "minute",
    hour: "hour",
    day: "day",
    week: "week",
    month: "month",
    quarter: "quarter",
    year: "year",
  },
} as const;
