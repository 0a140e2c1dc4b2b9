import { counted, formatNumber } from "./format";

const kinds = {
  project: "Project settings",
  "group type": "Group types",
  "event definition": "Event definitions",
  "property definition": "Property definitions",
  cohort: "Cohorts",
  "cohort member": "Members of static cohorts",
  insight: "Insights",
  dashboard: "Dashboards",
  alert: "Alerts",
  role: "Roles",
  "role member": "Members of roles",
  flag: "Feature flags",
  "role access": "Flags that roles may edit",
} as const;

export const words = {
  onlyAdmins: "Only administrators and owners export and import a project.",
  export: {
    title: "Export",
    hint: "One JSON file with the flags, cohorts and their members, definitions, insights, dashboards, alerts, roles and test accounts of this project. Events and persons are not in it. The e-mail addresses of role members are, so the activity records who downloads it.",
    action: "Download export",
    busy: "Preparing…",
    fileName: (project: string) => `${project}.json`,
  },
  import: {
    title: "Import",
    hint: "Adds what is in an export to this project, and changes what differs. Nothing is deleted. You see what will happen before anything is changed.",
    choose: "Drop an export here, or choose a file",
    chooseHint: "A JSON file, at most 128 MB",
    checking: "Sending and checking the file…",
    importing: "Importing… If you leave this page now, nothing is imported.",
    other: "Choose another file",
    again: "Check again",
    refused: "This file cannot be imported. Nothing was changed.",
    failed: "The file could not be checked.",
    preview: "What will happen",
    report: "What was imported",
    nothing: "Everything in this file is in the project already, and the same.",
    nothingDone: "The project had all of it already.",
    submit: (created: number, updated: number) =>
      `Import ${[created > 0 && `${formatNumber(created)} new`, updated > 0 && `${formatNumber(updated)} changed`].filter(Boolean).join(" and ")}`,
    done: (created: number, updated: number) =>
      `Imported: ${formatNumber(created)} created, ${formatNumber(updated)} changed`,
  },
  counts: {
    kind: "Kind",
    created: "New",
    updated: "Changed",
    unchanged: "Same",
    skipped: "Skipped",
  },
  kinds: kinds as Readonly<Record<string, string>>,
  outcomes: {
    label: "New, changed and skipped objects",
    results: { created: "New", updated: "Changed", skipped: "Skipped", unchanged: "Same" },
    more: (count: number) => `and ${counted(count, "more object", "more objects")}`,
  },
} as const;
