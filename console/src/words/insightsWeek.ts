const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** Words of trends by weekday and hour. */
export const words = {
  everyHour: "per hour of each weekday",
  week: "Weekdays and hours",
  keys: "Arrow keys move through the table, enter opens the persons behind a number.",
  weekday: "Weekday",
  /** day: from 1 for Monday; undefined: all */
  nameOfDay: (day: number | undefined) => (day === undefined ? "All days" : (DAYS[day - 1] ?? "")),
  hour: (hour: number) => `${hour}:00`,
  hours: (hour: number) => `${hour}:00 to ${hour + 1}:00`,
  allHours: "All hours",
} as const;
