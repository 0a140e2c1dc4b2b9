import { CircleMinus } from "lucide-react";
import { classes } from "@/ui/classes";
import { Visible } from "@/ui/properties";
import { words } from "@/words/web";
import type { Breakdown } from "./breakdowns";
import { hasCondition, type Value, withCondition, withoutCondition } from "./conditions";
import { nameOf, shortened, wholeName } from "./names";
import { conditionOf, type View } from "./view";

interface Props {
  by: Breakdown;
  value: Value;
  /** Share of the table's largest number, 0 to 1. */
  share: number;
  view: View;
}

/** A row's name on its bar: a button to show only this value, and one to exclude it. */
export function ValueName({ by, value, share, view }: Props) {
  const { where, change } = view;
  const condition = conditionOf(view, by, value);
  const whole = shortened(wholeName(by, value));
  const isOn = hasCondition(where, by, value);
  const name = <NameText by={by} value={value} />;
  return (
    <span className="relative flex min-w-0 items-center rounded">
      <span
        aria-hidden
        className="absolute inset-y-0 start-0 rounded bg-accent-soft"
        style={{ width: `${Math.max(0.5, share * 100)}%` }}
      />
      {typeof condition === "string" ? (
        <span title={words[condition]} className={classes(NAME, "cursor-help")}>
          {name}
        </span>
      ) : (
        <>
          <button
            type="button"
            aria-pressed={isOn}
            title={(isOn ? words.showAllAgain : words.showOnly)(whole)}
            onClick={() =>
              change({
                where: isOn ? withoutCondition(where, condition) : withCondition(where, condition),
              })
            }
            className={classes(NAME, "hover:underline", isOn && "font-medium")}
          >
            {name}
          </button>
          <button
            type="button"
            aria-label={words.leaveOut(whole)}
            title={words.leaveOut(whole)}
            onClick={() => change({ where: withCondition(where, { ...condition, not: true }) })}
            className="relative me-1 shrink-0 rounded p-1 text-ink-3 opacity-0 hover:text-ink focus-visible:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100"
          >
            <CircleMinus aria-hidden className="size-4" />
          </button>
        </>
      )}
    </span>
  );
}

const NAME = "relative min-w-0 flex-1 truncate px-2 py-1 text-start [&_bdi]:whitespace-nowrap";

function NameText({ by, value }: Pick<Props, "by" | "value">) {
  const { text, detail, isNone } = nameOf(by, value);
  return (
    <>
      <span className={isNone && "text-ink-2"}>
        <Visible text={shortened(text)} />
      </span>
      {detail !== undefined && (
        <span className="ms-1 text-ink-2 text-sm">
          {" "}
          <Visible text={shortened(detail)} />
        </span>
      )}
    </>
  );
}
