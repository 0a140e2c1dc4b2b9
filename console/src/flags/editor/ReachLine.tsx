import { TriangleAlert } from "lucide-react";
import { classes } from "@/ui/classes";
import { words } from "@/words/flagEditor";
import type { Reach } from "./useReach";

const said = words.reach;

/** The reach of one condition: how many it matches, are already covered, and are included. */
export function ReachLine({
  reach,
  place,
  isComplete,
  isForAll,
}: {
  reach: Reach;
  place: number;
  isComplete: boolean;
  /** Whether the condition matches everyone, including visitors without a person. */
  isForAll: boolean;
}) {
  if (!isComplete) return <p className="text-ink-3 text-sm">{said.incomplete}</p>;
  if (reach.error) return <p className="text-ink-3 text-sm">{said.failed}</p>;
  const { data } = reach;
  const found = data?.conditions[place];
  if (data === undefined || found === undefined) {
    return (
      <p aria-busy={reach.isCounting} className="text-ink-3 text-sm">
        {words.counting}
      </p>
    );
  }
  const isGroup = data.group_type_index !== null;
  if (found.matches === null) return <p className="text-ink-3 text-sm">{said.unknown}</p>;
  const isForVisitors = isForAll && !isGroup;
  if (data.total_persons === 0) {
    return (
      <p className="text-ink-2 text-sm">
        {isForVisitors ? said.onlyVisitors : said.nobodyYet(isGroup)}
      </p>
    );
  }
  return (
    <div aria-busy={reach.isCounting} className="flex flex-col gap-1 text-sm">
      <ReachBar
        total={data.total_persons}
        matches={found.matches}
        taken={found.already_taken ?? 0}
        rolledOut={found.rolled_out ?? 0}
        isOlder={reach.isCounting}
      />
      <p
        className={classes(
          "flex flex-wrap gap-x-3 gap-y-0.5",
          reach.isCounting ? "text-ink-3 italic" : "text-ink-2",
        )}
      >
        <span>{said.matches(found.matches, data.total_persons, isGroup)}</span>
        {found.already_taken !== null && found.already_taken > 0 && (
          <span>{said.taken(found.already_taken)}</span>
        )}
        {found.rolled_out !== null && (
          <strong className={reach.isCounting ? "" : "text-ink"}>
            {said.in(found.rolled_out, data.exact)}
          </strong>
        )}
      </p>
      {isForVisitors && !found.never_reached && <p className="text-ink-3">{said.visitors}</p>}
      {found.never_reached && (
        <p className="flex items-center gap-1.5 font-medium text-warn">
          <TriangleAlert aria-hidden className="size-4 shrink-0" />
          <span>
            {said.never}: {said.neverHint}
          </span>
        </p>
      )}
    </div>
  );
}

interface BarProps {
  total: number;
  matches: number;
  taken: number;
  rolledOut: number;
  isOlder: boolean;
}

/** The reach as a bar; the text below says it in words. */
function ReachBar({ total, matches, taken, rolledOut, isOlder }: BarProps) {
  if (total === 0) return null;
  const parts = [
    { name: "in", count: rolledOut, color: "bg-good" },
    { name: "taken", count: Math.min(taken, matches - rolledOut), color: "bg-line-strong" },
    { name: "rest", count: Math.max(matches - rolledOut - taken, 0), color: "bg-good-soft" },
  ];
  return (
    <div
      aria-hidden
      className={classes(
        "flex h-1.5 w-full overflow-hidden rounded-full bg-sunken",
        isOlder && "opacity-50",
      )}
    >
      {parts.map((part) => (
        <div
          key={part.name}
          className={part.color}
          style={{ width: `${(Math.max(part.count, 0) / total) * 100}%` }}
        />
      ))}
    </div>
  );
}
