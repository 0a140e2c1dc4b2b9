import { Move, MoveDiagonal2 } from "lucide-react";
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from "react";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { focusHeadingIfLost } from "@/ui/focus";
import { words } from "@/words/dashboards";
import { type Box, COLUMNS, changed, stepped } from "./grid";

export const ROW_PX = 80;
export const GAP_PX = 16;

export interface GridTile {
  id: number;
  name: string;
  /** tools: the buttons that move and resize a tile. height: total tile height in pixels */
  draw: (tools: { move: ReactNode; height: number }) => ReactNode;
}

interface Props {
  boxes: readonly Box[];
  tiles: readonly GridTile[];
  canMove: boolean;
  onPreview: (boxes: readonly Box[] | null) => void;
  onPlace: (boxes: readonly Box[]) => void;
}

/** Tiles on a 12-column grid, moved and resized with the mouse or keyboard. Narrow windows have one
 * column. */
export function Grid({ boxes, tiles, canMove, onPreview, onPlace }: Props) {
  const list = useRef<HTMLUListElement>(null);
  const [said, setSaid] = useState("");
  const drag = useDrag(list, boxes, onPreview, onPlace);
  useFocusAfterRemoval(tiles.length);
  const onKeyDown = (id: number) => (event: KeyboardEvent) => {
    if (!event.altKey || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const next = stepped(boxes, id, event.key, event.shiftKey);
    const box = next.find((one) => one.id === id);
    if (box !== undefined) setSaid(words.place(box.x, box.y, box.w, box.h));
    onPlace(next);
  };
  return (
    <>
      <p aria-live="polite" className="sr-only">
        {said}
      </p>
      <ul
        ref={list}
        aria-label={words.tiles}
        className="grid grid-cols-1 gap-4 md:auto-rows-[80px] md:grid-cols-12"
      >
        {boxes.map((box) => {
          const tile = tiles.find(({ id }) => id === box.id);
          if (tile === undefined) return null;
          const move = canMove && (
            <IconButton
              icon={Move}
              label={words.move(tile.name)}
              aria-description={words.moveHint}
              className="size-7 cursor-grab touch-none max-md:hidden"
              onKeyDown={onKeyDown(box.id)}
              onPointerDown={(event) => drag.begin(event, box.id, "move")}
              {...drag.handlers}
            />
          );
          return (
            <li
              key={box.id}
              style={
                {
                  "--place": `${box.y + 1} / ${box.x + 1} / span ${box.h} / span ${box.w}`,
                  "--height": `${heightOf(box)}px`,
                } as React.CSSProperties
              }
              className={classes(
                "relative h-[var(--height)] min-w-0 md:h-auto md:[grid-area:var(--place)]",
                drag.id === box.id && "z-10 opacity-80",
              )}
            >
              {tile.draw({ move, height: heightOf(box) })}
              {canMove && (
                <span
                  aria-hidden
                  title={words.resize(tile.name)}
                  className="absolute right-0 bottom-0 flex size-5 cursor-nwse-resize touch-none items-center justify-center text-ink-3 max-md:hidden"
                  onPointerDown={(event) => drag.begin(event, box.id, "resize")}
                  {...drag.handlers}
                >
                  <MoveDiagonal2 className="size-3.5" />
                </span>
              )}
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** A tile that is removed takes the focus with it. */
function useFocusAfterRemoval(count: number): void {
  const before = useRef(count);
  useEffect(() => {
    if (count < before.current) focusHeadingIfLost();
    before.current = count;
  }, [count]);
}

const heightOf = ({ h }: Box): number => h * ROW_PX + (h - 1) * GAP_PX;

interface Drag {
  id: number;
  how: "move" | "resize";
  from: { x: number; y: number };
  boxes: readonly Box[];
}

/** Preview the new position during a drag, and save it on drop. */
function useDrag(
  list: { current: HTMLElement | null },
  boxes: readonly Box[],
  onPreview: (boxes: readonly Box[] | null) => void,
  onPlace: (boxes: readonly Box[]) => void,
) {
  const [drag, setDrag] = useState<Drag | null>(null);
  const placeAt = (event: PointerEvent, { id, how, from, boxes: before }: Drag) => {
    const column = ((list.current?.clientWidth ?? 0) + GAP_PX) / COLUMNS;
    const x = Math.round((event.clientX - from.x) / column);
    const y = Math.round((event.clientY - from.y) / (ROW_PX + GAP_PX));
    return changed(before, id, how === "move" ? { x, y } : { w: x, h: y });
  };
  return {
    id: drag?.id,
    begin: (event: PointerEvent, id: number, how: Drag["how"]) => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      setDrag({ id, how, from: { x: event.clientX, y: event.clientY }, boxes });
    },
    handlers: {
      onPointerMove: (event: PointerEvent) => {
        if (drag !== null) onPreview(placeAt(event, drag));
      },
      onPointerUp: (event: PointerEvent) => {
        if (drag === null) return;
        setDrag(null);
        onPlace(placeAt(event, drag));
      },
      onPointerCancel: () => {
        setDrag(null);
        onPreview(null);
      },
    },
  };
}
