import { useState } from "react";
import { useProjectId } from "@/app/session";
import { eventOptions } from "@/events";
import { valueOptions } from "@/filters";
import { Combobox, type OptionSource } from "@/ui/combobox";
import { Checkbox, Switch, TextAreaField } from "@/ui/Field";
import { words } from "@/words/insightsPaths";
import { CountedField } from "../CountedField";
import type { FieldsProps } from "../kind";
import { WholeField } from "../WholeField";
import { CleaningRules } from "./CleaningRules";
import {
  type Changes,
  EDGES_MAX,
  EVENT_TYPES,
  optionsOf,
  STEPS_MAX,
  WEIGHT_MAX,
  withOptions,
} from "./options";
import { WithinFields } from "./WithinFields";

/** Fields for which events are steps, where paths start and end, and how many are shown. */
export function PathsFields({ question, onChange, errorAt }: FieldsProps) {
  const options = optionsOf(question);
  const projectId = useProjectId();
  const change = (changes: Changes) => onChange(withOptions(question, changes));
  const error = (name: string) => errorAt(`pathsFilter__${name}`);
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {options.within && (
        <WithinFields
          within={options.within}
          onChange={(within) => change({ within })}
          error={errorAt("funnelPathsFilter")}
        />
      )}
      <fieldset className="flex flex-col gap-1">
        <legend className="mb-1 font-medium">{words.types}</legend>
        <div className="flex flex-wrap gap-x-4 gap-y-1">
          {EVENT_TYPES.map((type) => (
            <Checkbox
              key={type}
              label={words.typeNames[type]}
              checked={options.eventTypes.includes(type)}
              onChange={(isOn) =>
                change({
                  eventTypes: EVENT_TYPES.filter((one) =>
                    one === type ? isOn : options.eventTypes.includes(one),
                  ),
                })
              }
            />
          ))}
        </div>
        {options.eventTypes.length === 0 && <p className="text-ink-3 text-sm">{words.typesHint}</p>}
      </fieldset>
      <CountedField question={question} onChange={onChange} errorAt={errorAt} />
      <Combobox
        label={words.start}
        freeEntry
        clearable
        placeholder={words.anyStart}
        options={stepOptions(projectId)}
        value={options.start ?? null}
        onChange={(start) => change({ start: start ?? undefined })}
        error={error("startPoint")}
      />
      <Combobox
        label={words.end}
        freeEntry
        clearable
        placeholder={words.anyEnd}
        options={stepOptions(projectId)}
        value={options.end ?? null}
        onChange={(end) => change({ end: end ?? undefined })}
        error={error("endPoint")}
      />
      <div className="grid grid-cols-2 items-start gap-3">
        <WholeField
          label={words.steps}
          value={options.steps}
          least={1}
          most={STEPS_MAX}
          onChange={(steps) => change({ steps })}
          error={error("stepLimit")}
        />
        <WholeField
          label={words.edges}
          value={options.edges}
          least={1}
          most={EDGES_MAX}
          onChange={(edges) => change({ edges })}
          error={error("edgeLimit")}
        />
        <WholeField
          label={words.least}
          value={options.least}
          least={0}
          most={WEIGHT_MAX}
          onChange={(least) => change({ least })}
          onClear={() => change({ least: undefined })}
          error={error("minEdgeWeight")}
        />
        <WholeField
          label={words.most}
          value={options.most}
          least={0}
          most={WEIGHT_MAX}
          onChange={(most) => change({ most })}
          onClear={() => change({ most: undefined })}
          error={error("maxEdgeWeight")}
        />
      </div>
      <LinesField
        label={words.excluded}
        hint={words.excludedHint}
        lines={options.excluded}
        onChange={(excluded) => change({ excluded })}
        error={error("excludeEvents")}
      />
      <LinesField
        label={words.groupings}
        hint={words.groupingsHint}
        lines={options.groupings}
        onChange={(groupings) => change({ groupings })}
        error={error("pathGroupings")}
      />
      <Switch
        label={words.cleaned}
        showsLabel
        isOn={options.isCleaned}
        onChange={(isCleaned) => change({ isCleaned })}
      />
      {error("pathReplacements") && <p className="text-bad text-sm">{error("pathReplacements")}</p>}
      <CleaningRules
        rules={options.cleaning}
        onChange={(cleaning) => change({ cleaning })}
        errorAt={(place) => error(`localPathCleaningFilters${place}`)}
      />
    </div>
  );
}

/** Page URLs and event names that have been seen. */
function stepOptions(projectId: string): OptionSource {
  const events = eventOptions(projectId);
  const addresses = valueOptions(projectId, "$current_url", { kind: "event" });
  return {
    key: [projectId, "path steps"],
    load: async (search, signal) => [
      ...("load" in addresses ? await addresses.load(search, signal) : []),
      ...(await events.load(search, signal)),
    ],
  };
}

interface LinesProps {
  label: string;
  hint: string;
  lines: readonly string[];
  onChange: (lines: readonly string[]) => void;
  error: string | undefined;
}

/** A list of texts, one per line. */
function LinesField({ label, hint, lines, onChange, error }: LinesProps) {
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <TextAreaField
      label={label}
      hint={hint}
      rows={2}
      value={typed ?? lines.join("\n")}
      error={error}
      onChange={({ target }) => {
        setTyped(target.value);
        const all = target.value.split("\n").map((line) => line.trim());
        onChange([...new Set(all)].filter((line) => line !== ""));
      }}
      onBlur={() => setTyped(null)}
    />
  );
}
