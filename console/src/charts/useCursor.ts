import { type KeyboardEvent, useState } from "react";

interface Options {
  times: number;
  series: number;
  onOpen: ((index: number, series: number) => void) | undefined;
}

/** The point that the keys have reached: left and right by time, up and down by series. */
export function useCursor({ times, series, onOpen }: Options) {
  const [position, setPosition] = useState<{ index: number; series: number } | null>(null);
  const last = Math.max(0, times - 1);
  const index = Math.min(position?.index ?? last, last);
  const place = Math.min(position?.series ?? 0, Math.max(0, series - 1));

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.target !== event.currentTarget || times === 0) return;
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const moves: Record<string, [index: number, series: number]> = {
      ArrowLeft: [index - 1, place],
      ArrowRight: [index + 1, place],
      ArrowUp: [index, place - 1],
      ArrowDown: [index, place + 1],
      Home: [0, place],
      End: [last, place],
    };
    const move = moves[event.key];
    if (move !== undefined) {
      event.preventDefault();
      setPosition({
        index: Math.min(last, Math.max(0, move[0])),
        series: Math.min(series - 1, Math.max(0, move[1])),
      });
    } else if (event.key === "Enter" && onOpen) {
      event.preventDefault();
      onOpen(index, place);
    } else if (event.key === "Escape" && position !== null) {
      setPosition(null);
    }
  };
  return { index, series: place, isSet: position !== null, onKeyDown, setPosition };
}
