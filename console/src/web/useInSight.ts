import { type RefObject, useEffect, useRef, useState } from "react";
import { useIsFetching } from "@/app/queries";

// A panel is fetched shortly before it scrolls into view, but while others are being fetched only if
// more of it is in view than its heading.
const AHEAD = "200px";
const IN_VIEW = "0px 0px -80px";
const ASKED: readonly unknown[] = ["web", "trend"];

/** Whether an element has ever been in view, or nearly so once nothing in view is being fetched.
 *
 * isReady: whether the first answer is known */
export function useInSight<T extends Element>(isReady: boolean): [RefObject<T | null>, boolean] {
  const element = useRef<T>(null);
  const [isSeen, setSeen] = useState(false);
  const isFetching = useIsFetching({ predicate: ({ queryKey }) => ASKED.includes(queryKey[0]) });
  const margin = isReady && !isFetching ? AHEAD : IN_VIEW;
  useEffect(() => {
    const { current } = element;
    if (isSeen || current === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
      },
      { rootMargin: margin },
    );
    observer.observe(current);
    return () => observer.disconnect();
  }, [isSeen, margin]);
  return [element, isSeen];
}
