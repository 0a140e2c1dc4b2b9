export const words = {
  title: "Cohorts",
  newTitle: "New cohort",
  cohortTitle: "Cohort",
} as const;
