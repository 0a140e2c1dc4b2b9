import { type RefObject, useEffect, useRef } from "react";
import { useShortcuts } from "@/lib/shortcuts";
import { words } from "@/words/charts";

interface Shown {
  element: RefObject<HTMLElement | null>;
  toggle: RefObject<() => void>;
}

const shown = new Set<Shown>();

/** The key t shows the numbers of the figure with the focus, else of the first that is in sight. */
export function useFigureKey(element: RefObject<HTMLElement | null>, toggle: () => void): void {
  const latest = useRef(toggle);
  latest.current = toggle;
  useEffect(() => {
    const one = { element, toggle: latest };
    shown.add(one);
    return () => {
      shown.delete(one);
    };
  }, [element]);
  useShortcuts([{ keys: words.tableKey, label: words.showTable, run: toggleOne }]);
}

function toggleOne(): void {
  const figures = [...shown];
  const focused = figures.find((one) => one.element.current?.contains(document.activeElement));
  (focused ?? figures.find(isInSight))?.toggle.current();
}

function isInSight({ element }: Shown): boolean {
  const box = element.current?.getBoundingClientRect();
  return box !== undefined && box.bottom > 0 && box.top < window.innerHeight;
}
