import { X } from "lucide-react";
import { PropertyFilterEditor, readFilter } from "@/filters";
import { IconButton } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { Select } from "@/ui/Select";
import { words } from "@/words/cohorts";
import { BehaviorEditor } from "./BehaviorEditor";
import { BEHAVIORS, kindOf, type Leaf, type LeafKind, withKind } from "./model";

const WORDS = words.builder;
const KINDS: readonly LeafKind[] = ["person", "cohort", ...BEHAVIORS];

interface Props {
  leaf: Leaf;
  /** The position in its group, from 1. */
  place: number;
  onChange: (leaf: Leaf) => void;
  onRemove: () => void;
  disabled: boolean;
}

/** One condition, as a sentence with controls in it. */
export function LeafEditor({ leaf, place, onChange, onRemove, disabled }: Props) {
  const kind = kindOf(leaf);
  return (
    <div className="flex min-w-0 items-start gap-2 rounded-lg border border-line bg-panel p-2.5">
      <div className="flex min-w-0 grow flex-wrap items-center gap-2">
        {kind === null ? (
          <Unknown leaf={leaf} />
        ) : (
          <>
            <Select
              aria-label={WORDS.kind}
              className="w-auto! max-w-full"
              value={kind}
              options={KINDS.map((value) => ({ value, label: WORDS.kindNames[value] }))}
              onChange={(next) => onChange(withKind(leaf, next))}
            />
            {kind === "person" || kind === "cohort" ? (
              <FilterLeaf leaf={leaf} onChange={onChange} disabled={disabled} />
            ) : (
              <BehaviorEditor leaf={leaf} kind={kind} onChange={onChange} disabled={disabled} />
            )}
          </>
        )}
      </div>
      {!disabled && (
        <IconButton
          icon={X}
          label={WORDS.removeCondition(place)}
          className="size-7"
          onClick={onRemove}
        />
      )}
    </div>
  );
}

type FilterProps = Pick<Props, "leaf" | "onChange" | "disabled">;

function FilterLeaf({ leaf, onChange, disabled }: FilterProps) {
  const filter = readFilter(leaf);
  if (filter === null) return null;
  return (
    <div className="min-w-0 grow">
      <PropertyFilterEditor
        filter={filter}
        // The kind of a stored cohort condition may be an older word for the same.
        onChange={(next) => onChange({ ...next })}
        use="cohort"
        disabled={disabled}
      />
    </div>
  );
}

function Unknown({ leaf }: { leaf: Leaf }) {
  return (
    <div className="flex min-w-0 grow flex-col gap-2">
      <p className="text-ink-2">{WORDS.unknown}</p>
      <Code text={JSON.stringify(leaf, null, 2)} what={WORDS.unknownLabel} />
    </div>
  );
}
