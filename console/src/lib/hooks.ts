import { useEffect, useState } from "react";

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

/** A text that is kept elsewhere, such as in the address: shown as it is typed, and told once it has
 * not changed for a moment. */
export function useTyped(given: string, onSettled: (text: string) => void) {
  const [text, setText] = useState(given);
  const [known, setKnown] = useState(given);
  const settled = useSettled(text);
  if (given !== known) {
    // Changed from elsewhere: by "back", or a link.
    setKnown(given);
    setText(given);
  }
  useEffect(() => {
    if (settled === text && settled !== known) {
      setKnown(settled);
      onSettled(settled);
    }
  }, [settled, known, text, onSettled]);
  return [text, setText] as const;
}

/** Keys of the rows of a list, that go with them when one before them is removed. */
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
