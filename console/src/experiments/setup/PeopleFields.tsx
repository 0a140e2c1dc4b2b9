import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { EventPicker } from "@/insights";
import { Checkbox } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/experiments";
import { exposureEvent, type Fields, withExposureEvent } from "./fields";
import { holdoutsQuery } from "./queries";

const WORDS = words.people;
const NO_HOLDOUT = "";
const OF_FLAG = "flag";

interface Props {
  fields: Fields;
  isReadOnly: boolean;
  isLaunched: boolean;
  onChange: (fields: Fields) => void;
  errorOf: (attr: string) => string | undefined;
}

/** Who counts as taking part. */
export function PeopleFields({ fields, isReadOnly, isLaunched, onChange, errorOf }: Props) {
  const event = exposureEvent(fields);
  const isOwnEvent = fields.criteria.exposure_config !== undefined && event !== null;
  return (
    <fieldset disabled={isReadOnly} className="flex min-w-0 flex-col gap-3">
      <legend className="sr-only">{WORDS.title}</legend>
      <SelectField
        label={WORDS.exposure}
        hint={isOwnEvent ? WORDS.ownHint : WORDS.flagHint}
        value={isOwnEvent ? "event" : OF_FLAG}
        disabled={isReadOnly}
        options={[
          { value: OF_FLAG, label: WORDS.byFlag },
          { value: "event", label: WORDS.byEvent },
        ]}
        onChange={(kind) =>
          onChange(withExposureEvent(fields, kind === OF_FLAG ? null : (event ?? "$pageview")))
        }
      />
      {isOwnEvent && (
        <EventPicker
          label={WORDS.event}
          event={event}
          onChange={(next) => next !== null && onChange(withExposureEvent(fields, next))}
          error={errorOf("exposure_criteria__exposure_config__event")}
        />
      )}
      <Checkbox
        label={WORDS.withoutTests}
        checked={fields.criteria.filterTestAccounts === true}
        disabled={isReadOnly}
        onChange={(filterTestAccounts) =>
          onChange({ ...fields, criteria: { ...fields.criteria, filterTestAccounts } })
        }
      />
      <HoldoutField
        id={fields.holdoutId}
        isReadOnly={isReadOnly || isLaunched}
        onChange={(holdoutId) => onChange({ ...fields, holdoutId })}
        error={errorOf("holdout_id")}
      />
    </fieldset>
  );
}

interface HoldoutProps {
  id: number | null;
  isReadOnly: boolean;
  onChange: (id: number | null) => void;
  error: string | undefined;
}

/** The holdout, where the project has any. */
function HoldoutField({ id, isReadOnly, onChange, error }: HoldoutProps) {
  const holdouts = useQuery(holdoutsQuery(useProjectId())).data ?? [];
  if (holdouts.length === 0 && id === null) return null;
  return (
    <SelectField
      label={WORDS.holdout}
      hint={WORDS.holdoutHint}
      error={error}
      disabled={isReadOnly}
      value={id === null ? NO_HOLDOUT : String(id)}
      options={[
        { value: NO_HOLDOUT, label: WORDS.noHoldout },
        ...holdouts.map((one) => ({ value: String(one.id), label: one.name })),
      ]}
      onChange={(chosen) => onChange(chosen === NO_HOLDOUT ? null : Number(chosen))}
    />
  );
}
