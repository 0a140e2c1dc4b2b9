import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { authorsQuery } from "@/activity";
import { preflightQuery, useProjectId } from "@/app/session";
import { ApiError, errorOf } from "@/lib/errors";
import { useSettled } from "@/lib/hooks";
import { Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Combobox } from "@/ui/combobox";
import { TextField } from "@/ui/Field";
import { Card } from "@/ui/Page";
import { SelectField } from "@/ui/Select";
import { ErrorNote, Loaded } from "@/ui/States";
import { words } from "@/words/alerts";
import { AlertChart } from "./AlertChart";
import { keyOfChoice, nameOfChoice, nameOfSeries } from "./names";
import { type AlertPreview, type AlertRule, type Condition, previewQuery } from "./queries";
import { Webhooks } from "./Webhooks";

/** The fields of an alert as they are edited. */
export interface AlertFields {
  name: string;
  condition: Condition;
  /** As typed. */
  threshold: string;
  series_index: number;
  breakdown_value: AlertPreview["breakdown_value"];
  subscribed_users: readonly number[];
}

/** The fields as the API takes them. */
export type AlertValues = Omit<AlertFields, "threshold" | "subscribed_users"> & {
  threshold: number;
  subscribed_users: number[];
};

interface Props {
  title: string;
  insightId: number;
  fields: AlertFields;
  submit: string;
  isBusy: boolean;
  /** The error of the last attempt to save. */
  error: unknown;
  onSave: (values: AlertValues) => void;
  onCancel: () => void;
}

const CONDITIONS: readonly Condition[] = ["above", "below", "changes_by", "changes_by_percent"];
const FIELDS = ["name", "insight", "condition", "threshold", "series_index", "subscribed_users"];

/** A form for an alert, with the numbers and what a check would say now beside it. */
export function AlertForm(props: Props) {
  const [fields, setFields] = useState(props.fields);
  const [isSent, setSent] = useState(false);
  const change = (changes: Partial<AlertFields>) => setFields({ ...fields, ...changes });
  const threshold = readNumber(fields.threshold);
  const settled = useSettled(fields);
  const rule = ruleOf(props.insightId, settled);
  const projectId = useProjectId();
  const preview = useQuery(previewQuery(projectId, rule));
  const save = (event: FormEvent) => {
    event.preventDefault();
    setSent(true);
    if (threshold === null || props.isBusy) return;
    props.onSave({
      ...fields,
      name: fields.name.trim(),
      threshold,
      subscribed_users: [...fields.subscribed_users],
    });
  };
  const isTyped = fields.threshold.trim() !== "" || isSent;
  const thresholdError =
    threshold === null && isTyped
      ? words.notANumber
      : (errorOf(props.error, "threshold") ?? errorOf(preview.error, "threshold"));
  const isOfField = props.error instanceof ApiError && FIELDS.includes(props.error.attr ?? "");
  const unusable = errorOf(props.error, "insight") ?? errorOf(preview.error, "insight");
  return (
    <form
      onSubmit={save}
      aria-label={props.title}
      className="grid min-w-0 items-start gap-4 lg:grid-cols-[minmax(0,22rem)_minmax(0,1fr)]"
    >
      <Card title={props.title}>
        <div className="flex flex-col gap-4">
          {unusable && <Notice tone="warn">{unusable}</Notice>}
          <TextField
            label={words.name}
            required
            value={fields.name}
            onChange={(event) => change({ name: event.target.value })}
            error={errorOf(props.error, "name")}
          />
          <SeriesField
            fields={fields}
            preview={preview.data?.answer}
            error={props.error}
            onChange={change}
          />
          <SelectField
            label={words.fires}
            hint={words.conditionHints[fields.condition]}
            value={fields.condition}
            options={CONDITIONS.map((value) => ({ value, label: words.conditions[value] }))}
            onChange={(condition) => change({ condition })}
            error={errorOf(props.error, "condition")}
          />
          <TextField
            label={words.threshold}
            required
            inputMode="decimal"
            value={fields.threshold}
            onChange={(event) => change({ threshold: event.target.value })}
            error={thresholdError}
          />
          <Told fields={fields} error={props.error} onChange={change} />
          {props.error && !isOfField ? <ErrorNote error={props.error} /> : null}
          <div className="flex flex-wrap justify-end gap-2">
            <Button onClick={props.onCancel}>{words.cancel}</Button>
            <Button type="submit" look="primary" isBusy={props.isBusy} disabled={!!unusable}>
              {props.submit}
            </Button>
          </div>
        </div>
      </Card>
      {!unusable && (
        <Card title={words.preview}>
          {thresholdError ? (
            <p className="text-ink-3">{words.needsThreshold}</p>
          ) : (
            <Loaded query={preview} rows={6}>
              {(found) => <AlertChart preview={found} hasThreshold={threshold !== null} />}
            </Loaded>
          )}
        </Card>
      )}
    </form>
  );
}

/** null: not a number */
function readNumber(text: string): number | null {
  const number = Number(text.trim().replace(",", "."));
  return text.trim() === "" || !Number.isFinite(number) ? null : number;
}

const ruleOf = (insight: number, fields: AlertFields): AlertRule => ({
  insight,
  condition: fields.condition,
  threshold: readNumber(fields.threshold) ?? 0,
  series_index: fields.series_index,
  breakdown_value: fields.breakdown_value,
});

interface FieldProps {
  fields: AlertFields;
  error: unknown;
  onChange: (changes: Partial<AlertFields>) => void;
}

/** The series to watch, if the insight has several. */
function SeriesField(props: FieldProps & { preview: AlertPreview | undefined }) {
  const { fields, preview, onChange } = props;
  if (preview === undefined) return null;
  // Without a value the alert takes the one at its place, as the preview has done.
  const watched = fields.breakdown_value === null ? preview : fields;
  const key = keyOfChoice({
    series_index: watched.series_index,
    breakdown_value: watched.breakdown_value,
  });
  const options = preview.choices.map((choice) => ({
    value: keyOfChoice(choice),
    label: nameOfChoice(choice),
  }));
  const isAbsent = !options.some(({ value }) => value === key);
  if (options.length < 2 && !isAbsent) return null;
  const shown = isAbsent
    ? [...options, { value: key, label: words.absent(nameOfSeries(preview)) }]
    : options;
  const choose = (value: string) => {
    const choice = preview.choices.find((one) => keyOfChoice(one) === value);
    if (choice !== undefined)
      onChange({ series_index: choice.series_index, breakdown_value: choice.breakdown_value });
  };
  return (
    <SelectField
      label={words.number}
      value={key}
      options={shown}
      onChange={choose}
      error={errorOf(props.error, "series_index") ?? errorOf(props.error, "breakdown_value")}
    />
  );
}

/** The members to notify when the alert starts or stops firing. */
function Told({ fields, error, onChange }: FieldProps) {
  const members = useQuery(authorsQuery).data ?? [];
  const canMail = useQuery(preflightQuery).data?.email_service_available;
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-medium">{words.told}</legend>
      <Webhooks />
      {canMail === false && <p className="text-ink-2 text-sm">{words.noMail}</p>}
      <Combobox
        multiple
        label={words.emails}
        hint={words.emailsHint}
        placeholder={words.addMember}
        options={members.map(({ id, first_name, email }) => ({
          value: String(id),
          label: first_name || email,
          description: email,
        }))}
        value={fields.subscribed_users.map(String)}
        onChange={(ids) => onChange({ subscribed_users: ids.map(Number) })}
        error={errorOf(error, "subscribed_users")}
      />
    </fieldset>
  );
}
