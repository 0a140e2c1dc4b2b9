import { X } from "lucide-react";
import { Button } from "@/ui/Button";
import { Switch } from "@/ui/Field";
import { Visible } from "@/ui/properties";
import { words } from "@/words/web";
import { type Condition, contraryOf, withoutCondition } from "./conditions";
import { nameOfGoal } from "./goals";
import { shortened, wholeName } from "./names";
import type { View } from "./view";

/** The filters that apply to the whole screen. */
export function Filters({ view }: { view: View }) {
  const { search, change, where } = view;
  const count = where.length + (search.goal === undefined ? 0 : 1);
  if (count === 0) return null;
  return (
    <ul aria-label={words.filters} className="flex min-w-0 flex-wrap items-center gap-2">
      {where.map((one, place) => (
        <li key={JSON.stringify(one)} className="min-w-0 max-w-full">
          <ConditionChip
            condition={one}
            onTurn={() => change({ where: where.with(place, contraryOf(one)) })}
            onRemove={() => change({ where: withoutCondition(where, one) })}
          />
        </li>
      ))}
      {search.goal !== undefined && (
        <li className="min-w-0 max-w-full">
          <GoalChip goal={search.goal} onRemove={() => change({ goal: undefined })} />
        </li>
      )}
      {count > 1 && (
        <li>
          <Button small look="quiet" onClick={() => change({ where: undefined, goal: undefined })}>
            {words.removeAll}
          </Button>
        </li>
      )}
    </ul>
  );
}

interface SwitchesProps {
  view: View;
  /** Whether the project has a test account filter. */
  hasTests: boolean;
  /** Whether the project has rules for paths. */
  hasRules: boolean;
}

/** Switches for the filters that the project has set up. */
export function Switches({ view: { search, change }, hasTests, hasRules }: SwitchesProps) {
  return (
    <>
      {hasRules && (
        <Switch
          label={words.clean}
          showsLabel
          isOn={search.raw !== true}
          onChange={(isOn) => change({ raw: isOn ? undefined : true })}
        />
      )}
      {hasTests && (
        <Switch
          label={words.tests}
          showsLabel
          isOn={search.tests !== true}
          onChange={(isOn) => change({ tests: isOn ? undefined : true })}
        />
      )}
    </>
  );
}

const CHIP =
  "inline-flex max-w-full items-center rounded-full border border-line-strong bg-panel text-sm";

function GoalChip({ goal, onRemove }: { goal: string; onRemove: () => void }) {
  const text = words.goalChip(shortened(nameOfGoal(goal)));
  return (
    <span className={CHIP}>
      <span className="truncate px-2.5 py-1 [&_bdi]:whitespace-nowrap">
        <Visible text={text} />
      </span>
      <Remove label={words.remove(text)} onRemove={onRemove} />
    </span>
  );
}

interface ChipProps {
  condition: Condition;
  onTurn: () => void;
  onRemove: () => void;
}

function ConditionChip({ condition, onTurn, onRemove }: ChipProps) {
  const { by, value, not = false } = condition;
  const text = words.condition(by, not, shortened(wholeName(by, value)));
  return (
    <span className={CHIP}>
      <button
        type="button"
        title={words.turnInto(not ? words.is : words.isNot)}
        onClick={onTurn}
        className="truncate rounded-full px-2.5 py-1 hover:bg-sunken [&_bdi]:whitespace-nowrap"
      >
        <Visible text={text} />
      </button>
      <Remove label={words.remove(text)} onRemove={onRemove} />
    </span>
  );
}

function Remove({ label, onRemove }: { label: string; onRemove: () => void }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      onClick={onRemove}
      className="me-1 shrink-0 rounded-full p-1 text-ink-2 hover:bg-sunken hover:text-ink"
    >
      <X aria-hidden className="size-3.5" />
    </button>
  );
}
