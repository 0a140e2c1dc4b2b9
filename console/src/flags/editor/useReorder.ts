import { type KeyboardEvent, type PointerEvent, useLayoutEffect, useRef, useState } from "react";

interface Reorder {
  /** The id of the item that is being dragged. */
  dragged: string | null;
  /** A ref to the list, whose elements have `data-part`. */
  listRef: React.RefObject<HTMLOListElement | null>;
  handle: (id: string) => {
    onPointerDown: (event: PointerEvent<HTMLElement>) => void;
    onPointerMove: (event: PointerEvent<HTMLElement>) => void;
    onPointerUp: () => void;
    onPointerCancel: () => void;
  };
  onKeyDown: (id: string) => (event: KeyboardEvent<HTMLElement>) => void;
}

/** Moves the parts of a list, by dragging a handle or by Alt with an arrow key within a part. */
export function useReorder(
  ids: readonly string[],
  move: (from: number, to: number) => void,
): Reorder {
  const listRef = useRef<HTMLOListElement>(null);
  const [dragged, setDragged] = useState<string | null>(null);
  const focused = useRef<HTMLElement | null>(null);
  // An element that is moved within the page loses the focus.
  useLayoutEffect(() => {
    focused.current?.focus();
    focused.current = null;
  });
  const end = () => setDragged(null);
  return {
    dragged,
    listRef,
    handle: (id) => ({
      onPointerDown: (event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragged(id);
      },
      onPointerMove: (event) => {
        if (dragged !== id) return;
        const to = placeAt(listRef.current, event.clientY);
        const from = ids.indexOf(id);
        if (to !== null && to !== from) move(from, to);
      },
      onPointerUp: end,
      onPointerCancel: end,
    }),
    onKeyDown: (id) => (event) => {
      const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
      if (!event.altKey || step === 0 || isList(event.target)) return;
      event.preventDefault();
      const from = ids.indexOf(id);
      const to = from + step;
      if (to < 0 || to >= ids.length) return;
      focused.current = event.target instanceof HTMLElement ? event.target : null;
      move(from, to);
    },
  };
}

/** The part whose middle half the pointer is in: at its edges nothing moves to and fro. */
function placeAt(list: HTMLElement | null, y: number): number | null {
  const parts = [...(list?.querySelectorAll<HTMLElement>(":scope > [data-part]") ?? [])];
  const place = parts.findIndex((part) => {
    const { top, height } = part.getBoundingClientRect();
    return y > top + height / 4 && y < top + (height * 3) / 4;
  });
  return place < 0 ? null : place;
}

/** Alt with an arrow opens these. */
const isList = (target: EventTarget): boolean =>
  target instanceof HTMLSelectElement ||
  (target instanceof HTMLElement && target.getAttribute("role") === "combobox");
