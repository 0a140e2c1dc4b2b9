import { type ReactNode, useRef } from "react";
import { words } from "@/words/charts";
import type { useCursor } from "./useCursor";
import { useWidth } from "./useWidth";

interface Props {
  caption: string;
  /** The number of points that the keys walk through. */
  count: number;
  cursor: ReturnType<typeof useCursor>;
  /** The point under the cursor, in words. */
  valueText: string;
  canOpen: boolean;
  height: number;
  /** Draws the chart once its width is known. */
  children: (width: number) => ReactNode;
}

/** The box of a drawn chart, which takes the focus and moves the cursor by keys. */
export function CursorBox({ caption, count, cursor, canOpen, height, ...props }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  return (
    <div
      ref={box}
      role="slider"
      tabIndex={0}
      aria-label={caption}
      aria-valuemin={0}
      aria-valuemax={count - 1}
      aria-valuenow={cursor.index}
      aria-valuetext={props.valueText}
      aria-roledescription={words.chart}
      title={canOpen ? words.keysWithOpen : words.keys}
      className={`min-w-0 rounded ${canOpen ? "cursor-pointer" : ""}`}
      style={{ height }}
      onKeyDown={cursor.onKeyDown}
      onMouseLeave={() => cursor.setPosition(null)}
    >
      {width > 0 && props.children(width)}
    </div>
  );
}

/** Stands in place of a chart that has nothing to draw. */
export const NoData = ({ height }: { height: number }) => (
  <p className="flex items-center justify-center text-ink-3" style={{ height }}>
    {words.noData}
  </p>
);
