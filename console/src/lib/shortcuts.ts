import { useEffect, useRef } from "react";

export interface Shortcut {
  /** "mod+k", "g f" (one after the other), "?", "escape". */
  keys: string;
  /** The label in the list of shortcuts; without one the shortcut is not listed. */
  label?: string;
  group?: "go" | "do";
  run: () => void;
}

// A sequence such as "g f" is forgotten when its second key does not follow in time.
const SEQUENCE_MS = 1000;
const active = new Set<{ current: readonly Shortcut[] }>();
let first = "";
let firstAt = 0;

/** The shortcuts of all screens that are drawn, latest first. */
export function activeShortcuts(): Shortcut[] {
  return [...active].reverse().flatMap((one) => one.current);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    !(target instanceof HTMLInputElement && /^(checkbox|radio|button)$/.test(target.type))
  );
}

function nameOf(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key : event.key.toLowerCase();
  const mod = event.ctrlKey || event.metaKey ? "mod+" : "";
  const alt = event.altKey ? "alt+" : "";
  return mod + alt + (mod || alt ? key.toLowerCase() : key);
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const pressed = nameOf(event);
  // A dialog or a menu has its own keys. Another one of the screen would open above it and hide it.
  if (document.querySelector('[role="dialog"], [role="menu"]') !== null) return;
  if (!pressed.startsWith("mod+") && isTyping(event.target)) return;
  const sequence = event.timeStamp - firstAt < SEQUENCE_MS ? `${first} ${pressed}` : "";
  const shortcuts = activeShortcuts();
  const found =
    shortcuts.find((one) => one.keys === sequence) ?? shortcuts.find((one) => one.keys === pressed);
  [first, firstAt] = found === undefined ? [pressed, event.timeStamp] : ["", 0];
  if (found !== undefined) {
    event.preventDefault();
    found.run();
  }
}

/** Called once. */
export function startShortcuts(): void {
  window.addEventListener("keydown", onKeyDown);
}

/** Register the shortcuts of a screen while it is drawn. None acts while a dialog is open; plain keys
 * do not act while the user types. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    active.add(latest);
    return () => {
      active.delete(latest);
    };
  }, []);
}

/** `/` goes to the filter of the screen. */
export function focusFilter(): void {
  document.querySelector<HTMLInputElement>("main [data-filter]")?.focus();
}
