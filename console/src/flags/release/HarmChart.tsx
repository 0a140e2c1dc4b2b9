import { words } from "@/words/guardedRelease";
import { type Guardrail, harmText } from "./release";

const WIDTH = 260;
const HEIGHT = 36;
const MIDDLE = 12;
const EDGE = 10;

/** The harm of a guardrail: the estimate, and the bound above which it lies, against the limit. */
export function HarmChart({ guardrail }: { guardrail: Guardrail }) {
  const { harm, lower, name, outcome } = guardrail;
  if (harm === null) return null;
  const least = Math.min(0, lower ?? harm, harm);
  const most = Math.max(0, harm);
  const reach = most - least || 1;
  // The interval has no end on the right, where there is room for that.
  const xOf = (value: number) => EDGE + ((value - least) / (reach * 1.35)) * (WIDTH - 2 * EDGE);
  const limit = xOf(0);
  const tone = outcome === "harmed" ? "bad" : outcome === "none" ? "ink-3" : "good";
  return (
    <svg
      role="img"
      aria-label={words.chart(name, harmText(guardrail))}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      className="max-w-full text-[11px]"
    >
      <rect x={limit} y={0} width={WIDTH - limit} height={2 * MIDDLE} fill="var(--bad-soft)" />
      <line x1={limit} x2={limit} y1={0} y2={2 * MIDDLE} className="stroke-line-strong" />
      {lower !== null && (
        <>
          <line
            x1={xOf(lower)}
            x2={WIDTH}
            y1={MIDDLE}
            y2={MIDDLE}
            stroke={`var(--${tone})`}
            strokeWidth={3}
          />
          <line
            x1={xOf(lower)}
            x2={xOf(lower)}
            y1={MIDDLE - 5}
            y2={MIDDLE + 5}
            stroke={`var(--${tone})`}
            strokeWidth={3}
          />
        </>
      )}
      <circle
        cx={xOf(harm)}
        cy={MIDDLE}
        r={4.5}
        fill={`var(--${tone})`}
        stroke="var(--panel)"
        strokeWidth={1.5}
      />
      <text
        x={Math.min(Math.max(limit, EDGE + 4), WIDTH - EDGE - 4)}
        y={HEIGHT - 2}
        textAnchor="middle"
        className="fill-ink-3"
      >
        {words.atLimit}
      </text>
    </svg>
  );
}
