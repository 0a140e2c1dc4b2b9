import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";

/** Focus the heading of each screen that a user goes to, which screen readers then read. A search
 * parameter such as a tab is no other screen, and a screen that focuses a field by itself keeps it.
 */
export function useRouteFocus(): void {
  const router = useRouter();
  useEffect(() => {
    let frame = 0;
    const focus = () => {
      const heading = document.querySelector<HTMLElement>("main h1");
      const focused = document.activeElement;
      const isTaken = focused?.closest("main, [role=dialog]") && focused.id !== "main";
      if (heading === null || isTaken) return;
      heading.focus({ preventScroll: true });
    };
    const end = router.subscribe("onRendered", ({ pathChanged, fromLocation }) => {
      if (!pathChanged || fromLocation === undefined) return;
      cancelAnimationFrame(frame);
      // A dialog that closes by the same step first gives the focus back.
      frame = requestAnimationFrame(focus);
    });
    return () => {
      end();
      cancelAnimationFrame(frame);
    };
  }, [router]);
}
