import { Plus } from "lucide-react";
import { useState } from "react";
import { ApiError } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { Select } from "@/ui/Select";
import { toast } from "@/ui/Toast";
import { words } from "@/words/flagEditor";
import {
  type Condition,
  changedCondition,
  copiedCondition,
  evaluationOrder,
  newCondition,
  type Rules,
} from "../model";
import type { Names } from "../sentence";
import { ConditionCard } from "./ConditionCard";
import type { OnProblem } from "./problems";
import type { Reach } from "./useReach";
import { useReorder } from "./useReorder";

interface ConditionsCardProps {
  rules: Rules;
  onChange: (rules: Rules) => void;
  reach: Reach;
  names: Names;
  /** The server's error about the rules, with its place. */
  error: unknown;
  canEdit: boolean;
  showProblems: boolean;
  onProblem: OnProblem;
}

/** The card of the conditions: who gets the flag. */
export function ConditionsCard(props: ConditionsCardProps) {
  const { rules, onChange, reach, names, error, canEdit, showProblems } = props;
  const { conditions, groupTypeIndex } = rules;
  const [said, setSaid] = useState("");
  const set = (next: readonly Condition[]) => onChange({ ...rules, conditions: next });
  const move = (from: number, to: number) => {
    const next = [...conditions];
    next.splice(to, 0, ...next.splice(from, 1));
    set(next);
    setSaid(words.movedCondition(from + 1, to + 1));
  };
  const reorder = useReorder(
    conditions.map((one) => one.id),
    move,
  );
  const order = evaluationOrder(conditions);
  return (
    <Card
      title={words.conditions}
      description={words.conditionsHint}
      actions={<Aggregation {...props} />}
    >
      <div className="flex flex-col gap-3">
        {conditions.length === 0 && <p className="text-ink-2">{words.noCondition}</p>}
        <ol ref={reorder.listRef} aria-label={words.conditionList} className="flex flex-col gap-3">
          {conditions.map((condition, place) => (
            <ConditionCard
              key={condition.id}
              condition={condition}
              place={place}
              position={order.indexOf(place)}
              variants={rules.variants.map((one) => one.key)}
              groupTypeIndex={groupTypeIndex}
              groupTypes={[...(names.groupTypes?.values() ?? [])]}
              reach={reach}
              error={errorOfCondition(error, place)}
              canEdit={canEdit}
              showProblems={showProblems}
              onProblem={props.onProblem}
              isDragged={reorder.dragged === condition.id}
              onChange={(next) => set(conditions.map((one) => (one === condition ? next : one)))}
              onDuplicate={() =>
                set(conditions.toSpliced(place + 1, 0, copiedCondition(condition)))
              }
              onRemove={() => set(conditions.filter((one) => one !== condition))}
              onKeyDown={canEdit ? reorder.onKeyDown(condition.id) : () => undefined}
              handle={reorder.handle(condition.id)}
            />
          ))}
        </ol>
        <p role="status" className="sr-only">
          {said}
        </p>
        {canEdit && (
          <div>
            <Button icon={Plus} onClick={() => set([...conditions, newCondition()])}>
              {words.addCondition}
            </Button>
          </div>
        )}
      </div>
    </Card>
  );
}

const PEOPLE = "";

/** The choice between a flag for people and one for a group type. */
function Aggregation({ rules, onChange, names, canEdit }: ConditionsCardProps) {
  const types = [...(names.groupTypes ?? [])];
  const { groupTypeIndex } = rules;
  if (types.length === 0 && groupTypeIndex === null) return null;
  const choose = (chosen: string) => {
    const conditions = rules.conditions.map((one) =>
      one.properties.length === 0 ? one : changedCondition(one, { properties: [] }),
    );
    const hadProperties = rules.conditions.some((one) => one.properties.length > 0);
    if (hadProperties) toast({ text: words.aggregationChanged, undo: () => onChange(rules) });
    onChange({ ...rules, conditions, groupTypeIndex: chosen === PEOPLE ? null : Number(chosen) });
  };
  const known = types.map(([index, name]) => ({
    value: String(index),
    label: words.groupsOf(name),
  }));
  const own = String(groupTypeIndex);
  const isUnknown = groupTypeIndex !== null && !known.some((one) => one.value === own);
  return (
    <div className="flex items-center gap-2 text-sm">
      <span aria-hidden>{words.aggregation}</span>
      <Select
        aria-label={words.aggregation}
        value={groupTypeIndex === null ? PEOPLE : own}
        disabled={!canEdit}
        options={[
          { value: PEOPLE, label: words.people },
          ...known,
          ...(isUnknown ? [{ value: own, label: words.groupType(groupTypeIndex) }] : []),
        ]}
        onChange={choose}
        className="!w-auto"
      />
    </div>
  );
}

/** `attr` of an error is the place, as in `filters__groups__0__rollout_percentage`. */
function errorOfCondition(error: unknown, place: number): string | null {
  if (!(error instanceof ApiError) || error.attr === null) return null;
  const isOfIt = `${error.attr}__`.startsWith(`filters__groups__${place}__`);
  return isOfIt ? error.detail : null;
}
