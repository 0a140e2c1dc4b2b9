import { useState } from "react";

/** Return a handler for the close of a dialog that gives the focus back to where it was when the dialog
 * was drawn first, whatever opened it: a button, a key, an entry of a menu, a point of a chart. */
export function useFocusBack(): (event: Event) => void {
  const [opener] = useState(() => openerOf(document.activeElement));
  return (event) => {
    event.preventDefault();
    const isThere = opener?.isConnected && !opener.matches(":disabled");
    const target = isThere ? opener : document.querySelector<HTMLElement>("main h1");
    target?.focus({ preventScroll: true });
  };
}

/** Focus the heading of the screen if what had the focus is gone. */
export function focusHeadingIfLost(): void {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body)
      document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
  });
}

/** An entry of a menu is gone with its menu, whose button is left. */
function openerOf(focused: Element | null): HTMLElement | SVGElement | null {
  const button = focused?.closest('[role="menu"]')?.getAttribute("aria-labelledby");
  const opener = button ? document.getElementById(button) : focused;
  const canFocus = opener instanceof HTMLElement || opener instanceof SVGElement;
  return canFocus && opener !== document.body ? opener : null;
}

/** Focus a sheet itself as it opens: it is read, and the next key reaches its first button. A button
 * would show its tooltip, which takes the first "escape". */
export function focusSheet(event: Event): void {
  event.preventDefault();
  if (event.currentTarget instanceof HTMLElement) event.currentTarget.focus();
}
