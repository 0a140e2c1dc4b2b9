import type { ReactNode } from "react";
import { errorOf } from "@/lib/errors";
import { classes } from "@/ui/classes";
import { TextAreaField, TextField } from "@/ui/Field";
import { Card } from "@/ui/Page";
import { words } from "@/words/experiments";
import type { Fields, Role } from "./fields";
import { MetricList } from "./MetricList";
import { PeopleFields } from "./PeopleFields";
import { PlanCard, type usePlan } from "./PlanCard";
import { SplitFields } from "./SplitFields";

interface Props {
  fields: Fields;
  onChange: (fields: Fields) => void;
  /** What goes beside the name: the field for the flag. */
  flagField?: ReactNode;
  /** null: an experiment that was launched needs no plan. */
  planning: ReturnType<typeof usePlan> | null;
  /** Whether the flag decides on the split. */
  isSplitOfFlag: boolean;
  isLaunched: boolean;
  isReadOnly: boolean;
  error: unknown;
}

/** Everything that an experiment is set up by. */
export function SetupForm(props: Props) {
  const { fields, onChange, planning, error, isReadOnly, isLaunched } = props;
  const errorAt = (attr: string) => errorOf(error, attr);
  const list = (role: Role) => (
    <MetricList
      role={role}
      entries={fields.metrics[role]}
      isReadOnly={isReadOnly}
      onChange={(entries) =>
        onChange({ ...fields, metrics: { ...fields.metrics, [role]: entries } })
      }
      errorOf={errorAt}
    />
  );
  return (
    <div
      className={classes(
        "grid min-w-0 items-start gap-4 *:col-start-1",
        planning !== null && "lg:grid-cols-[minmax(0,1fr)_22rem]",
      )}
    >
      <Card>
        <div className="flex min-w-0 flex-col gap-4">
          <div className="grid items-start gap-4 sm:grid-cols-2">
            <TextField
              autoFocus={props.flagField !== undefined && fields.name === ""}
              label={words.name}
              error={errorAt("name")}
              value={fields.name}
              disabled={isReadOnly}
              onChange={({ target }) => onChange({ ...fields, name: target.value })}
            />
            {props.flagField}
          </div>
          <TextAreaField
            label={words.descriptionField}
            isOptional
            rows={2}
            error={errorAt("description")}
            value={fields.description}
            disabled={isReadOnly}
            onChange={({ target }) => onChange({ ...fields, description: target.value })}
          />
        </div>
      </Card>
      <Card title={words.metric.roles.primary} description={words.metric.roleHints.primary}>
        {list("primary")}
      </Card>
      {planning !== null && (
        <div className="lg:sticky lg:top-16 lg:col-start-2! lg:row-span-4 lg:row-start-1">
          <PlanCard
            fields={fields}
            planning={planning}
            onEffect={(effect) => onChange({ ...fields, effect })}
          />
        </div>
      )}
      <Card title={words.metric.others} description={words.metric.othersHint}>
        <div className="flex min-w-0 flex-col gap-3">
          {list("secondary")}
          {list("guardrail")}
        </div>
      </Card>
      <Card title={words.people.title}>
        <div className="flex min-w-0 flex-col gap-5">
          {props.isSplitOfFlag ? null : (
            <SplitFields
              variants={fields.variants}
              rollout={fields.rollout}
              isReadOnly={isReadOnly || isLaunched}
              onVariants={(variants) => onChange({ ...fields, variants })}
              onRollout={(rollout) => onChange({ ...fields, rollout })}
              error={errorAt("parameters") ?? errorAt("parameters__feature_flag_variants")}
            />
          )}
          <PeopleFields
            fields={fields}
            isReadOnly={isReadOnly}
            isLaunched={isLaunched}
            onChange={onChange}
            errorOf={errorAt}
          />
        </div>
      </Card>
    </div>
  );
}
