import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { errorOf } from "@/lib/errors";
import { Checkbox, TextField } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/flagEditor";
import type { Fields } from "./fields";

interface SettingsCardProps {
  fields: Fields;
  /** Null for a new flag, which has its own field for its key. */
  savedKey: string | null;
  isByGroup: boolean;
  onChange: (change: Partial<Omit<Fields, "filters">>) => void;
  error: unknown;
  canEdit: boolean;
}

/** A key that an import has brought stays, whatever its characters. */
export const isKey = (key: string, savedKey: string | null): boolean =>
  key === savedKey || /^[a-zA-Z0-9_-]{1,400}$/.test(key);

/** The card of settings that few flags need. */
export function SettingsCard(props: SettingsCardProps) {
  const { fields, savedKey, isByGroup, onChange, error, canEdit } = props;
  const keyProblem = isKey(fields.key, savedKey) ? errorOf(error, "key") : words.keyInvalid;
  return (
    <details className="group rounded-lg border border-line bg-panel">
      <summary className="flex cursor-pointer items-center gap-1.5 px-4 py-3 font-semibold">
        <ChevronRight aria-hidden className="size-4 group-open:rotate-90" />
        {words.settings}
      </summary>
      <div className="grid gap-4 px-4 pb-4 sm:grid-cols-2">
        {savedKey !== null && (
          <TextField
            label={words.key}
            hint={words.keyHint}
            error={keyProblem}
            value={fields.key}
            disabled={!canEdit}
            spellCheck={false}
            onChange={(event) => onChange({ key: event.target.value })}
          />
        )}
        <SelectField
          label={words.runtime}
          hint={words.runtimeHint}
          error={errorOf(error, "evaluation_runtime")}
          value={fields.evaluation_runtime}
          disabled={!canEdit}
          options={options(words.runtimeOptions)}
          onChange={(chosen) => onChange({ evaluation_runtime: chosen })}
        />
        {!isByGroup && (
          <SelectField
            label={words.bucketing}
            error={errorOf(error, "bucketing_identifier")}
            value={fields.bucketing_identifier}
            disabled={!canEdit}
            options={options(words.bucketingOptions)}
            onChange={(chosen) => onChange({ bucketing_identifier: chosen })}
          />
        )}
        <Contexts {...props} />
        {!isByGroup && fields.bucketing_identifier === "distinct_id" && (
          <Checkbox
            label={words.continuity}
            hint={words.continuityHint}
            checked={fields.ensure_experience_continuity}
            disabled={!canEdit}
            onChange={(isOn) => onChange({ ensure_experience_continuity: isOn })}
            className="sm:col-span-2"
          />
        )}
      </div>
    </details>
  );
}

function Contexts({ fields, onChange, error, canEdit }: SettingsCardProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const change = (text: string) => {
    setTyped(text);
    const contexts = text.split(",").map((one) => one.trim());
    onChange({ evaluation_contexts: contexts.filter((one) => one !== "") });
  };
  return (
    <TextField
      label={words.contexts}
      hint={words.contextsHint}
      error={errorOf(error, "evaluation_contexts")}
      isOptional
      value={typed ?? fields.evaluation_contexts.join(", ")}
      disabled={!canEdit}
      onChange={(event) => change(event.target.value)}
      onBlur={() => setTyped(null)}
    />
  );
}

function options<T extends string>(labels: Record<T, string>): { value: T; label: string }[] {
  const names = Object.keys(labels) as T[];
  return names.map((value) => ({ value, label: labels[value] }));
}
