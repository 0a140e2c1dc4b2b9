import { Plus, Trash2 } from "lucide-react";
import { Button, IconButton } from "@/ui/Button";
import { Select } from "@/ui/Select";
import { words } from "@/words/cohorts";
import { LeafEditor } from "./LeafEditor";
import { type Criterion, emptyLeaf, type Group, isGroup, type Leaf } from "./model";

const WORDS = words.builder;

interface Props {
  group: Group;
  onChange: (group: Group) => void;
  /** Place in the tree: "2.1"; "" for the whole. */
  depth?: string;
  /** Absent for the whole. */
  onRemove?: () => void;
  disabled?: boolean;
}

/** Conditions, or groups of them, of which all or one must hold. */
export function GroupEditor(props: Props) {
  const { group, onChange, depth = "", onRemove, disabled = false } = props;
  const holdsGroups = group.values.length > 0 && group.values.every(isGroup);
  const label = depth === "" ? WORDS.conditions : WORDS.groupOf(depth);
  return (
    <fieldset
      aria-label={label}
      disabled={disabled}
      className={`flex min-w-0 flex-col gap-2 ${depth === "" ? "" : "rounded-lg border border-line bg-canvas p-3"}`}
    >
      <div className="flex flex-wrap items-center gap-2">
        <span>{WORDS.match}</span>
        <Select
          aria-label={`${WORDS.match} (${label})`}
          className="w-auto! max-w-full"
          value={group.type}
          options={[
            { value: "AND", label: WORDS.all },
            { value: "OR", label: WORDS.any },
          ]}
          onChange={(type) => onChange({ ...group, type })}
        />
        {onRemove && !disabled && (
          <IconButton
            icon={Trash2}
            label={WORDS.removeGroup(depth)}
            className="ml-auto"
            onClick={onRemove}
          />
        )}
      </div>
      <Parts {...props} depth={depth} />
      {!disabled && (
        <div className="flex flex-wrap gap-2">
          {!holdsGroups && (
            <Button
              small
              icon={Plus}
              onClick={() => onChange(withLeaf(group, emptyLeaf("person")))}
            >
              {WORDS.addCondition}
            </Button>
          )}
          <Button small icon={Plus} look="quiet" onClick={() => onChange(withGroup(group))}>
            {WORDS.addGroup}
          </Button>
        </div>
      )}
    </fieldset>
  );
}

function Parts({ group, onChange, depth = "", disabled = false }: Props) {
  if (group.values.length === 0) return null;
  return (
    <ol className="flex min-w-0 flex-col gap-2">
      {group.values.map((one, at) => {
        const place = depth === "" ? String(at + 1) : `${depth}.${at + 1}`;
        const remove = () => onChange(removed(group, at));
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no other name than their place
          <li key={at} className="flex min-w-0 flex-col gap-1 sm:flex-row sm:items-start sm:gap-2">
            <span className="shrink-0 text-ink-3 text-sm sm:w-8 sm:pt-1.5 sm:text-right">
              {at === 0 ? "" : group.type === "AND" ? WORDS.and : WORDS.or}
            </span>
            <div className="min-w-0 grow">
              {isGroup(one) ? (
                <GroupEditor
                  group={one}
                  depth={place}
                  disabled={disabled}
                  onChange={(next) => onChange(replaced(group, at, next))}
                  onRemove={remove}
                />
              ) : (
                <LeafEditor
                  leaf={one}
                  place={at + 1}
                  disabled={disabled}
                  onChange={(next) => onChange(replaced(group, at, next))}
                  onRemove={remove}
                />
              )}
            </div>
          </li>
        );
      })}
    </ol>
  );
}

const replaced = (group: Group, place: number, next: Criterion): Group => ({
  ...group,
  values: group.values.map((one, other) => (other === place ? next : one)),
});

/** Return the tree without one of its parts and without groups that become empty. */
const removed = (group: Group, place: number): Group => ({
  ...group,
  values: group.values.filter((_, other) => other !== place),
});

const withLeaf = (group: Group, leaf: Leaf): Group => ({
  ...group,
  values: [...group.values, leaf],
});

const fresh = (): Group => ({ type: "AND", values: [emptyLeaf("person")] });

/** Return the tree with another group. Its own conditions become the first group, since groups and
 * conditions do not stand side by side. */
function withGroup(group: Group): Group {
  if (group.values.every(isGroup)) return { ...group, values: [...group.values, fresh()] };
  const first: Group = { type: group.type, values: group.values };
  return { ...group, type: "OR", values: [first, fresh()] };
}
