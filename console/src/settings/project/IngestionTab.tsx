import { type FormEvent, useState } from "react";
import { useProjectChange } from "@/app/projectChange";
import { type Project, useIsAdmin } from "@/app/session";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { Checkbox, TextAreaField, TextField } from "@/ui/Field";
import { Card } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { words } from "@/words/settings";

const T = words.ingestion;

/** The typed values: numbers are text until they are saved, lists have one entry per line. */
interface Draft {
  anonymize: boolean;
  agents: string;
  properties: string;
  items: string;
  bytes: string;
  burst: string;
}

export function IngestionTab({ project }: { project: Project }) {
  const isAdmin = useIsAdmin();
  const [draft, setDraft] = useState(() => draftOf(project));
  const save = useProjectChange(project, T.saved);
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const error = (name: string) =>
    errorOf(save.error, `ingestion.${name}`) ?? errorOf(save.error, name);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ ingestion: rulesOf(draft) });
  };
  const number = (name: "items" | "bytes" | "burst", field: string, hint: string) => (
    <TextField
      label={T[name]}
      hint={hint}
      type="number"
      min={0}
      step="any"
      value={draft[name]}
      placeholder={name === "burst" ? undefined : T.unlimited}
      onChange={(event) => set({ [name]: event.target.value })}
      error={error(field)}
    />
  );
  return (
    <Card className="max-w-3xl" description={isAdmin ? undefined : words.onlyAdmins}>
      <form onSubmit={submit}>
        <fieldset disabled={!isAdmin} className="flex flex-col gap-4">
          <Checkbox
            label={T.anonymize}
            hint={T.anonymizeHint}
            checked={draft.anonymize}
            onChange={(anonymize) => set({ anonymize })}
          />
          <TextAreaField
            label={T.agents}
            hint={T.agentsHint}
            value={draft.agents}
            onChange={(event) => set({ agents: event.target.value })}
            error={error("dropped_user_agents")}
          />
          <TextAreaField
            label={T.properties}
            hint={T.propertiesHint}
            value={draft.properties}
            onChange={(event) => set({ properties: event.target.value })}
            error={error("removed_properties")}
          />
          <fieldset>
            <legend className="mb-2 font-semibold">{T.limits}</legend>
            <div className="grid gap-4 sm:grid-cols-3">
              {number("items", "items_per_second", T.unlimitedHint)}
              {number("bytes", "bytes_per_second", T.unlimitedHint)}
              {number("burst", "burst_seconds", T.burstHint)}
            </div>
          </fieldset>
          {save.error ? <ErrorNote error={save.error} /> : null}
          <div>
            <Button type="submit" look="primary" isBusy={save.isPending}>
              {words.save}
            </Button>
          </div>
        </fieldset>
      </form>
    </Card>
  );
}

function draftOf({ ingestion }: Project): Draft {
  return {
    anonymize: ingestion.anonymize_ips,
    agents: ingestion.dropped_user_agents.join("\n"),
    properties: ingestion.removed_properties.join("\n"),
    items: String(ingestion.items_per_second ?? ""),
    bytes: String(ingestion.bytes_per_second ?? ""),
    burst: String(ingestion.burst_seconds),
  };
}

function rulesOf(draft: Draft) {
  return {
    anonymize_ips: draft.anonymize,
    dropped_user_agents: linesOf(draft.agents),
    removed_properties: linesOf(draft.properties),
    items_per_second: numberOf(draft.items),
    bytes_per_second: numberOf(draft.bytes),
    burst_seconds: numberOf(draft.burst) ?? 0,
  };
}

const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

const numberOf = (text: string): number | null => (text.trim() === "" ? null : Number(text));
