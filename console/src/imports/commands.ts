import type { words } from "@/words/imports";

export type Source = keyof typeof words.sources;

export const DEFAULT_FILES: Record<Source, string> = {
  csv: "events.csv",
  jsonl: "events.jsonl",
  parquet: "events.parquet",
  posthog: "events.jsonl",
  mixpanel: "export.jsonl",
  amplitude: "export.zip",
  umami: "umami.zip",
};

/** Whether the meaning of the columns is said by a mapping, and not known by the product. */
export const hasMapping = (source: Source): boolean =>
  source === "csv" || source === "jsonl" || source === "parquet";

interface Given {
  source: Source;
  file: string;
  host: string;
  projectId: string;
}

export function commandsOf({ source, file, host, projectId }: Given) {
  const read = `fanion import-events ${quoted(file)} --from ${source}`;
  const mapping = hasMapping(source) ? ["--map mapping.json"] : [];
  const target = [`--host ${quoted(host)}`, `--project ${projectId}`];
  return {
    preview: `${read} --preview`,
    run: [
      "export POSTHOG_PERSONAL_API_KEY=phx_…",
      [read, ...mapping, ...target].join(" \\\n  "),
    ].join("\n"),
  };
}

/** A word of a shell, in quotes only where it needs them. */
const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
