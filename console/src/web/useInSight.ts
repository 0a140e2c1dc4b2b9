import { type RefObject, useEffect, useRef, useState } from "react";

// A panel is fetched shortly before it scrolls into view.
const AHEAD = "200px";

/** Whether an element has ever been in view, or nearly so. */
export function useInSight<T extends Element>(): [RefObject<T | null>, boolean] {
  const element = useRef<T>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const { current } = element;
    if (isSeen || current === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
      },
      { rootMargin: AHEAD },
    );
    observer.observe(current);
    return () => observer.disconnect();
  }, [isSeen]);
  return [element, isSeen];
}
