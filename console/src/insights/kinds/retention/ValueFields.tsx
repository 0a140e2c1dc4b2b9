import { useProjectId } from "@/app/session";
import { nameOptions } from "@/filters";
import { Combobox } from "@/ui/combobox";
import { plainName } from "@/ui/properties";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/insightsRetention";
import { AGGREGATIONS, type RetentionOptions } from "./options";

interface Props {
  options: RetentionOptions;
  /** The returning event; undefined: any. */
  event: string | undefined;
  onChange: (changes: Partial<RetentionOptions>) => void;
  errorAt: (attr: string) => string | undefined;
}

/** Whether persons are counted, or a property of their events is added up. */
export function ValueFields({ options, event, onChange, errorAt }: Props) {
  const projectId = useProjectId();
  const { aggregation, aggregated } = options;
  return (
    <>
      <SelectField
        label={words.aggregation}
        value={aggregation}
        options={AGGREGATIONS.map((value) => ({ value, label: words.aggregations[value] }))}
        onChange={(value) => onChange({ aggregation: value })}
        error={errorAt("retentionFilter__aggregationType")}
      />
      {aggregation !== "count" && (
        <Combobox
          label={words.property}
          freeEntry
          placeholder={words.property}
          options={nameOptions(projectId, { kind: "event", event })}
          value={aggregated ?? null}
          labelOf={plainName}
          onChange={(value) => onChange({ aggregated: value ?? undefined })}
          error={errorAt("retentionFilter__aggregationProperty")}
          autoFocus={aggregated === undefined}
        />
      )}
    </>
  );
}
