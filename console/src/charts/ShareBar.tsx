import { words } from "@/words/charts";
import { colorsByValue } from "./palette";
import { fillOf } from "./series";

export interface Share {
  name: string;
  /** The size of the part, in any unit. */
  value: number;
}

export interface ShareBarProps {
  /** The name of the whole, such as "Variants". */
  label: string;
  shares: readonly Share[];
  /** Names and percentages below the bar; else in its name for screen readers and on hover alone. */
  legend?: boolean;
}

const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

/** The parts of a whole, side by side. */
export function ShareBar({ label, shares, legend = false }: ShareBarProps) {
  const whole = shares.reduce((sum, one) => sum + one.value, 0);
  const colors = colorsByValue(shares.map((one) => one.name));
  const parts = shares.map((one) => ({
    ...one,
    token: `--series-${colors.get(one.name)}`,
    text: words.share(one.name, percent.format(whole === 0 ? 0 : one.value / whole)),
  }));
  const spoken = parts.map((part) => part.text).join(", ");
  return (
    <div className="min-w-0">
      <div
        role="img"
        aria-label={words.point(label, spoken)}
        title={spoken}
        className="flex h-2.5 w-full gap-px overflow-hidden rounded bg-sunken"
      >
        {parts.map((part, place) =>
          part.value > 0 ? (
            <span
              key={part.name}
              style={{ flexGrow: part.value, flexBasis: 0, background: fillOf(part.token, place) }}
            />
          ) : null,
        )}
      </div>
      {legend && (
        <ul className="mt-1 flex flex-wrap gap-x-3 gap-y-0.5 text-sm text-ink-2">
          {parts.map((part, place) => (
            <li key={part.name} className="inline-flex items-center gap-1.5">
              <span
                aria-hidden
                className="size-2.5 shrink-0 rounded-sm"
                style={{ background: fillOf(part.token, place) }}
              />
              <bdi>{part.text}</bdi>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
