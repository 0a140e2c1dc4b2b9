import { classes } from "@/ui/classes";
import { words } from "@/words/charts";
import { formatNumber, formatShare } from "@/words/format";
import { TotalsFigure, type TotalsProps } from "./Totals";

interface Props extends TotalsProps {
  /** The height that the numbers fill; without it, as tall as they are. */
  height?: number | undefined;
}

/** Numbers in large type, each with its change from the previous period if known. */
export function BigNumber(props: Props) {
  const { totals, onOpen, format = formatNumber, height } = props;
  const current = totals.flatMap((one, place) => (one.isPrevious ? [] : [{ one, place }]));
  const before = totals.filter(({ isPrevious }) => isPrevious);
  const size =
    height === undefined
      ? undefined
      : sizeIn(
          height,
          current.map(({ one }) => format(one.value)),
        );
  return (
    <TotalsFigure {...props}>
      <ul
        style={{ minHeight: height }}
        className={classes(
          "flex flex-wrap content-center justify-center gap-x-12 gap-y-4",
          height === undefined ? "py-8" : "[container-type:inline-size]",
        )}
      >
        {current.map(({ one, place }, at) => (
          <li key={one.key ?? one.name} className="flex flex-col items-center gap-1">
            <Shown
              text={format(one.value)}
              name={one.name}
              size={size}
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

// A digit is about so wide, in parts of its height; half of the height is for the number.
const DIGIT_WIDTH = 0.62;
const SHARE_OF_HEIGHT = 0.5;

/** Return the largest type in which the numbers fit beside each other. */
function sizeIn(height: number, texts: readonly string[]): string {
  const signs = texts.reduce((sum, text) => sum + text.length + 2, 0);
  const byWidth = Math.floor(100 / (signs * DIGIT_WIDTH));
  return `clamp(2rem, min(${Math.round(height * SHARE_OF_HEIGHT)}px, ${byWidth}cqw), 7rem)`;
}

interface ShownProps {
  text: string;
  name: string;
  size: string | undefined;
  onOpen: (() => void) | undefined;
}

function Shown(props: ShownProps) {
  const shape = classes(
    "rounded px-2 font-semibold leading-tight tabular-nums",
    props.size === undefined && "text-5xl",
  );
  const style = { fontSize: props.size };
  if (props.onOpen === undefined)
    return (
      <span className={shape} style={style}>
        {props.text}
      </span>
    );
  return (
    <button
      type="button"
      aria-label={words.valueOf(props.name, props.text)}
      className={classes(shape, "hover:bg-sunken")}
      style={style}
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
