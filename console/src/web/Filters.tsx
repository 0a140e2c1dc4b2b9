import { X } from "lucide-react";
import { Button } from "@/ui/Button";
import { Switch } from "@/ui/Field";
import { Visible } from "@/ui/properties";
import { words } from "@/words/web";
import { type Condition, contraryOf, withoutCondition } from "./conditions";
import { shortened, wholeName } from "./names";
import type { View } from "./view";

interface Props {
  view: View;
  /** Whether the project says who its test accounts are. */
  hasTests: boolean;
  /** Whether the project has rules for paths. */
  hasRules: boolean;
}

/** What everything is filtered by, and the switches of the project. */
export function Filters({ view, hasTests, hasRules }: Props) {
  const { search, change, where } = view;
  const isAny = where.length > 0 || search.goal !== undefined;
  if (!isAny && !hasTests && !hasRules) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      {isAny && (
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
              <span className={CHIP}>
                <span className="truncate px-2.5 py-1 [&_bdi]:whitespace-nowrap">
                  <Visible text={words.goalChip(shortened(search.goal))} />
                </span>
                <Remove
                  label={words.remove(words.goalChip(shortened(search.goal)))}
                  onRemove={() => change({ goal: undefined })}
                />
              </span>
            </li>
          )}
          {where.length + (search.goal === undefined ? 0 : 1) > 1 && (
            <li>
              <Button
                small
                look="quiet"
                onClick={() => change({ where: undefined, goal: undefined })}
              >
                {words.removeAll}
              </Button>
            </li>
          )}
        </ul>
      )}
      <span className="flex flex-wrap items-center gap-x-4 gap-y-2 sm:ms-auto">
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
      </span>
    </div>
  );
}

const CHIP =
  "inline-flex max-w-full items-center rounded-full border border-line-strong bg-panel text-sm";

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
