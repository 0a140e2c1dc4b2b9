import { words } from "@/words/charts";
import { formatNumber, formatShare } from "@/words/format";
import { TotalsFigure, type TotalsProps } from "./Totals";

/** Numbers in large type, each with its change from the previous period if known. */
export function BigNumber(props: TotalsProps) {
  const { totals, onOpen, format = formatNumber } = props;
  const current = totals.flatMap((one, place) => (one.isPrevious ? [] : [{ one, place }]));
  const before = totals.filter(({ isPrevious }) => isPrevious);
  return (
    <TotalsFigure {...props}>
      <ul className="flex flex-wrap justify-center gap-x-12 gap-y-6 py-8">
        {current.map(({ one, place }, at) => (
          <li key={one.key ?? one.name} className="flex flex-col items-center gap-1">
            <Shown
              text={format(one.value)}
              name={one.name}
              onOpen={onOpen && (() => onOpen(place))}
            />
            <bdi className="text-ink-2">{one.name}</bdi>
            {before[at] !== undefined && (
              <span className="text-ink-2 text-sm">{changeOf(one.value, before[at].value)}</span>
            )}
          </li>
        ))}
      </ul>
    </TotalsFigure>
  );
}

function Shown(props: { text: string; name: string; onOpen: (() => void) | undefined }) {
  const shape = "rounded px-2 font-semibold text-5xl tabular-nums";
  if (props.onOpen === undefined) return <span className={shape}>{props.text}</span>;
  return (
    <button
      type="button"
      aria-label={words.valueOf(props.name, props.text)}
      className={`${shape} hover:bg-sunken`}
      onClick={props.onOpen}
    >
      {props.text}
    </button>
  );
}

function changeOf(now: number, before: number): string {
  const text = formatNumber(before);
  if (before === 0) return words.changeFrom(text);
  const percent = Math.round(((now - before) / before) * 1000) / 10;
  return words.change(percent > 0 ? `+${formatShare(percent)}` : formatShare(percent), text);
}
