import { useCallback, useEffect, useRef, useState } from "react";

/** The value once it has not changed for so long. */
export function useSettled<T>(value: T, delayMs = 300): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delayMs);
    return () => clearTimeout(timer);
  }, [value, delayMs]);
  return settled;
}

/** The time now, again each so many milliseconds; still where the page is hidden. */
export function useNow(everyMs = 30_000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** The title of the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Fanion`;
  }, [title]);
}

/** Return a function that stays the same while what it calls changes. */
export function useStable<A extends readonly unknown[]>(call: (...given: A) => void) {
  const latest = useRef(call);
  latest.current = call;
  return useCallback((...given: A) => latest.current(...given), []);
}

/** Tracks what a screen wrote to outside state that updates late, such as the URL. By the time a write
 * arrives the screen may have moved on, and must not revert to it.
 *
 * given: the current outside state
 */
export function useWritten(given: string) {
  const [own, setOwn] = useState<readonly string[]>([given]);
  const [seen, setSeen] = useState(given);
  const place = own.indexOf(given);
  const isForeign = given !== seen && place < 0;
  if (given !== seen) {
    setSeen(given);
    setOwn(isForeign ? [given] : own.slice(place));
  }
  const add = useCallback((text: string) => setOwn((all) => [...all, text]), []);
  return {
    /** Whether something else just changed it, such as the back button or a link. */
    isForeign,
    /** The last value written. */
    last: own.at(-1),
    add,
  };
}

/** A text that is kept elsewhere, such as in the address: shown as it is typed, and told once it has
 * not changed for a moment. */
export function useTyped(given: string, onSettled: (text: string) => void) {
  const [text, setText] = useState(given);
  const { isForeign, last, add } = useWritten(given);
  if (isForeign) setText(given);
  const settled = useSettled(text);
  useEffect(() => {
    if (settled === text && settled !== last) {
      add(settled);
      onSettled(settled);
    }
  }, [settled, last, text, add, onSettled]);
  return [text, setText] as const;
}

/** Stable keys for the rows of a list, which stay with a row when an earlier one is removed. */
export function useStableKeys(count: number) {
  const [keys] = useState<{ all: number[]; next: number }>({ all: [], next: 0 });
  while (keys.all.length < count) keys.all.push(keys.next++);
  keys.all.length = count;
  return {
    of: (place: number) => keys.all[place],
    remove: (place: number) => {
      keys.all.splice(place, 1);
    },
  };
}
