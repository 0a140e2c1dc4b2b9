export const words = {
  title: "Import",
  hint: "Events from files: exports of other products, CSV, JSON lines and Parquet of any size.",
  about:
    "A command on the computer that has the files sends them. If it is interrupted, run it again: it continues, and imports no event twice.",
  source: "Files from",
  sources: {
    csv: "CSV",
    jsonl: "JSON lines",
    parquet: "Parquet",
    posthog: "PostHog",
    mixpanel: "Mixpanel",
    amplitude: "Amplitude",
    umami: "Umami",
  },
  file: "File",
  fileHint: "Its path on that computer.",
  preview: "1. Preview",
  previewHint: "Shows the first events. Nothing is sent.",
  previewMapHint:
    "Shows the first events, and a mapping that is guessed from the names of the columns. Nothing is sent. Save the mapping as mapping.json and correct it.",
  run: "2. Import",
  runHint: "Sends the events, and compares the counts of what was sent with what is stored.",
  keyHint: "The personal API key needs the scopes project:read, event:read and query:read.",
  keyLink: "Personal API keys",
  copied: { preview: "the command of the preview", run: "the command of the import" },
} as const;
