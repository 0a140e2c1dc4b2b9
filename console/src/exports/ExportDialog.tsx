import { useState } from "react";
import { errorOf } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { toast } from "@/ui/Toast";
import { words } from "@/words/exports";
import { type BatchExport, useExportChange, useExportCreation } from "./queries";

type Format = keyof typeof words.formats;
type Interval = BatchExport["interval"];

interface Fields {
  name: string;
  bucket_name: string;
  region: string;
  prefix: string;
  endpoint_url: string;
  aws_access_key_id: string;
  aws_secret_access_key: string;
}

const FORMATS = optionsOf(words.formats);
const INTERVALS = optionsOf(words.intervals);
const KEYS = ["aws_access_key_id", "aws_secret_access_key"] as const;
const CONFIG = ["bucket_name", "region", "prefix", "endpoint_url", ...KEYS] as const;
const LABELS: Record<keyof Fields, string> = {
  name: words.name,
  bucket_name: words.bucket,
  region: words.region,
  prefix: words.prefix,
  endpoint_url: words.endpoint,
  aws_access_key_id: words.keyId,
  aws_secret_access_key: words.secretKey,
};
const HINTS: Partial<Record<keyof Fields, string>> = {
  prefix: words.prefixHint,
  endpoint_url: words.endpointHint,
};
const PLACEHOLDERS: Partial<Record<keyof Fields, string>> = {
  region: "eu-central-1",
  endpoint_url: "https://example.com",
};
const OPTIONAL: ReadonlySet<keyof Fields> = new Set(["prefix", "endpoint_url"]);

interface Props {
  /** null: a new one */
  edited: BatchExport | null;
  onClose: () => void;
}

export function ExportDialog({ edited, onClose }: Props) {
  const [fields, setFields] = useState(() => fieldsOf(edited));
  const [interval, setInterval] = useState<Interval>(edited?.interval ?? "day");
  const [format, setFormat] = useState<Format>(
    edited?.destination.config.file_format ?? "JSONLines",
  );
  const creation = useExportCreation();
  const change = useExportChange(edited?.id ?? 0);
  const used = edited === null ? creation : change;
  const error = (name: keyof Fields) => errorOf(used.error, attrOf(name));
  const ofField = (["name", ...CONFIG] as const).some((name) => error(name) !== undefined);
  const done = { onSuccess: () => close(edited === null ? words.created : words.saved) };
  const close = (text: string) => {
    toast({ text });
    onClose();
  };
  const save = () => {
    const config = { ...configOf(fields), file_format: format };
    if (edited !== null) {
      const given = withoutEmptyKeys(config);
      change.mutate({ name: fields.name.trim(), destination: { config: given } }, done);
      return;
    }
    creation.mutate(
      { name: fields.name.trim(), interval, destination: { type: "S3", config } },
      done,
    );
  };
  const field = (name: keyof Fields) => {
    const isKept = edited !== null && isKey(name);
    return (
      <TextField
        key={name}
        label={LABELS[name]}
        hint={isKept ? words.keysKept : HINTS[name]}
        isOptional={OPTIONAL.has(name) || isKept}
        required={!OPTIONAL.has(name) && !isKept}
        type={name === "aws_secret_access_key" ? "password" : "text"}
        autoComplete="off"
        placeholder={PLACEHOLDERS[name]}
        value={fields[name]}
        onChange={(event) => setFields({ ...fields, [name]: event.target.value })}
        error={error(name)}
      />
    );
  };
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={edited === null ? words.create : words.edit}
      submit={words.save}
      onSubmit={save}
      isBusy={used.isPending}
      error={ofField ? undefined : used.error}
    >
      {field("name")}
      {edited === null && (
        <SelectField
          label={words.interval}
          hint={words.intervalHint}
          value={interval}
          options={INTERVALS}
          onChange={setInterval}
        />
      )}
      <SelectField label={words.format} value={format} options={FORMATS} onChange={setFormat} />
      {CONFIG.map(field)}
    </FormDialog>
  );
}

function fieldsOf(edited: BatchExport | null): Fields {
  const config = edited?.destination.config;
  return {
    name: edited?.name ?? "",
    bucket_name: config?.bucket_name ?? "",
    region: config?.region ?? "",
    prefix: config?.prefix ?? "",
    endpoint_url: config?.endpoint_url ?? "",
    aws_access_key_id: "",
    aws_secret_access_key: "",
  };
}

function configOf({ name: _, endpoint_url, ...fields }: Fields) {
  return { ...fields, endpoint_url: endpoint_url.trim() || null };
}

/** The keys are not read back: what is left empty stays as it is. */
function withoutEmptyKeys({
  aws_access_key_id: id,
  aws_secret_access_key: secret,
  ...config
}: ReturnType<typeof configOf> & { file_format: Format }) {
  return {
    ...config,
    ...(id !== "" && { aws_access_key_id: id }),
    ...(secret !== "" && { aws_secret_access_key: secret }),
  };
}

const isKey = (name: keyof Fields): boolean => KEYS.some((one) => one === name);

const attrOf = (name: keyof Fields): string =>
  name === "name" ? name : `destination__config__${name}`;

function optionsOf<Value extends string>(labels: Record<Value, string>) {
  return (Object.keys(labels) as Value[]).map((value) => ({ value, label: labels[value] }));
}
