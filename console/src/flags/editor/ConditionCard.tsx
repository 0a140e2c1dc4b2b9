import { CopyPlus, GripVertical, Trash2 } from "lucide-react";
import type { KeyboardEvent, PointerEvent } from "react";
import { type FilterKind, PropertyFilterList } from "@/filters";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Select } from "@/ui/Select";
import { words } from "@/words/flagEditor";
import { type Condition, changedCondition } from "../model";
import { ShareInput } from "./NumberInput";
import type { OnProblem } from "./problems";
import { ReachLine } from "./ReachLine";
import { isConditionComplete, type Reach } from "./useReach";

const KINDS: readonly FilterKind[] = ["person", "cohort", "flag"];
const BY_SHARES = "";

interface ConditionCardProps {
  condition: Condition;
  place: number;
  /** The position in the order of evaluation. */
  position: number;
  variants: readonly string[];
  groupTypeIndex: number | null;
  groupTypes: readonly string[];
  reach: Reach;
  /** The server's error message. */
  error: string | null;
  canEdit: boolean;
  showProblems: boolean;
  onProblem: OnProblem;
  isDragged: boolean;
  onChange: (condition: Condition) => void;
  onDuplicate: () => void;
  onRemove: () => void;
  onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
  handle: {
    onPointerDown: (event: PointerEvent<HTMLElement>) => void;
    onPointerMove: (event: PointerEvent<HTMLElement>) => void;
    onPointerUp: () => void;
    onPointerCancel: () => void;
  };
}

export function ConditionCard(props: ConditionCardProps) {
  const { condition, place, position, groupTypeIndex, canEdit, error, onChange } = props;
  const number = place + 1;
  const isForAll = condition.properties.length === 0;
  return (
    <li
      data-part
      aria-label={words.condition(number)}
      onKeyDown={props.onKeyDown}
      className={classes(
        "flex flex-col gap-3 rounded-md border bg-panel p-3",
        error === null ? "border-line" : "border-bad",
        props.isDragged && "border-accent shadow-float",
      )}
    >
      <div className="flex items-center gap-1">
        {canEdit && (
          <IconButton
            icon={GripVertical}
            label={words.moveCondition(number)}
            {...props.handle}
            className="-ml-1.5 cursor-grab touch-none active:cursor-grabbing"
          />
        )}
        <h3 className="min-w-0 grow">
          <span className="font-medium">{words.condition(number)}</span>
          <span className="ml-2 text-ink-2">
            {words.matchesIf} {isForAll ? words.everyone : words.whoHolds}
          </span>
        </h3>
        {canEdit && <Actions {...props} number={number} />}
      </div>
      {position !== place && <p className="text-ink-3 text-sm">{words.goesBefore(position + 1)}</p>}
      <PropertyFilterList
        label={words.propertiesOf(number)}
        filters={condition.properties}
        onChange={(properties) => onChange(changedCondition(condition, { properties }))}
        use="flag"
        allowed={groupTypeIndex === null ? KINDS : ["group"]}
        {...(groupTypeIndex !== null && { groupTypeIndex })}
        showProblems={props.showProblems}
        disabled={!canEdit}
        addLabel={words.addProperty}
      />
      <ShareRow {...props} number={number} />
      {error !== null && (
        <p role="alert" className="text-bad text-sm">
          {error}
        </p>
      )}
      <ReachLine
        reach={props.reach}
        place={place}
        isComplete={isConditionComplete(condition)}
        isForAll={isForAll}
      />
    </li>
  );
}

function Actions({ number, onDuplicate, onRemove }: ConditionCardProps & { number: number }) {
  return (
    <>
      <IconButton icon={CopyPlus} label={words.duplicateCondition(number)} onClick={onDuplicate} />
      <IconButton icon={Trash2} label={words.removeCondition(number)} onClick={onRemove} />
    </>
  );
}

function ShareRow(props: ConditionCardProps & { number: number }) {
  const { condition, number, variants, canEdit, onChange } = props;
  const setShare = (share: number) => onChange(changedCondition(condition, { share }));
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <div className="flex min-w-56 grow flex-wrap items-center gap-2">
        <span aria-hidden className="shrink-0 text-ink-2">
          {words.share}
        </span>
        <input
          type="range"
          min={0}
          max={100}
          step={1}
          aria-label={words.shareSlider(number)}
          value={condition.share}
          disabled={!canEdit}
          onChange={(event) => setShare(Number(event.target.value))}
          className="min-w-20 grow basis-20 accent-accent"
        />
        <span className="flex items-center gap-2">
          <ShareInput
            label={words.shareOf(number)}
            value={condition.share}
            disabled={!canEdit}
            onChange={setShare}
            onProblem={props.onProblem}
            className="!w-20"
          />
          <span aria-hidden>%</span>
        </span>
      </div>
      {(variants.length > 0 || condition.variant !== null) && (
        <div className="flex items-center gap-2">
          <span aria-hidden className="text-ink-2">
            {words.override}
          </span>
          <Select
            aria-label={words.overrideOf(number)}
            value={condition.variant ?? BY_SHARES}
            disabled={!canEdit}
            options={[
              { value: BY_SHARES, label: words.byShares },
              ...withOwn(variants, condition.variant).map((key) => ({
                value: key,
                label: words.always(key),
              })),
            ]}
            onChange={(key) =>
              onChange(changedCondition(condition, { variant: key === BY_SHARES ? null : key }))
            }
            className="!w-auto max-w-64"
          />
        </div>
      )}
    </div>
  );
}

/** The options, including a variant that no longer exists. */
const withOwn = (variants: readonly string[], own: string | null): readonly string[] =>
  own === null || variants.includes(own) ? variants : [...variants, own];
