import { classes } from "@/ui/classes";
import { words } from "@/words/charts";
import { formatNumber } from "@/words/format";
import { type Mark, markOf, type Series } from "./series";

interface Props {
  series: readonly Series[];
  /** Place of the time whose values are shown. */
  index: number;
  when: string;
  format?: ((value: number) => string) | undefined;
  /** Place of the series that enter opens; null while the keys are not used. */
  active: number | null;
  /** Lines have dashes, layers have hatching. */
  kind: "line" | "layer";
  hatchOf?: (place: number) => boolean;
}

/** Names and values of the series at the cursor; said aloud when the keys move it. */
export function Legend({
  series,
  index,
  when,
  format = formatNumber,
  active,
  kind,
  hatchOf,
}: Props) {
  return (
    <div className="mt-1 flex flex-wrap items-baseline gap-x-4 gap-y-0.5 text-sm">
      <span className="min-w-24 text-ink-3">{when}</span>
      {series.map((one, place) => {
        const value = one.values[index] ?? null;
        return (
          <span key={one.key ?? one.name} className="inline-flex max-w-full items-baseline gap-1.5">
            <Sample mark={markOf(one, place)} kind={kind} isHatched={hatchOf?.(place) ?? false} />
            <bdi
              className={classes(
                "truncate",
                place === active ? "text-ink underline" : "text-ink-2",
              )}
            >
              {one.name}
            </bdi>
            <span className="font-medium tabular-nums">
              {value === null ? words.none : format(value)}
            </span>
          </span>
        );
      })}
    </div>
  );
}

function Sample({
  mark,
  kind,
  isHatched,
}: {
  mark: Mark;
  kind: Props["kind"];
  isHatched: boolean;
}) {
  const color = `var(${mark.token})`;
  if (kind === "layer") {
    return (
      <svg width="12" height="12" aria-hidden="true" className="shrink-0 self-center">
        <rect width="12" height="12" rx="2" fill={color} fillOpacity={isHatched ? 0.35 : 1} />
        {isHatched && <path d="M0 12 12 0M-3 3 3-3M9 15 15 9" stroke={color} strokeWidth="2.5" />}
      </svg>
    );
  }
  return (
    <svg width="18" height="4" aria-hidden="true" className="shrink-0 self-center">
      <line
        x1="0"
        x2="18"
        y1="2"
        y2="2"
        stroke={color}
        strokeWidth="3"
        strokeDasharray={mark.dash.join(" ")}
      />
    </svg>
  );
}
