import { useSyncExternalStore } from "react";
import { readStored, writeStored } from "@/lib/storage";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const isTheme = (found: unknown): found is Theme => THEMES.some((one) => one === found);
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let chosen: Theme = readStored<Theme>("theme", "system", isTheme);

function shown(): "light" | "dark" {
  if (chosen !== "system") return chosen;
  return systemIsDark.matches ? "dark" : "light";
}

function apply(): void {
  document.documentElement.dataset.theme = shown();
  for (const listener of listeners) listener();
}

/** Called once, before anything is drawn. */
export function startTheme(): void {
  apply();
  systemIsDark.addEventListener("change", apply);
}

export function chooseTheme(theme: Theme): void {
  chosen = theme;
  writeStored("theme", theme);
  apply();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The choice, and what it comes to now. */
export function useTheme(): { chosen: Theme; shown: "light" | "dark" } {
  const theme = useSyncExternalStore(subscribe, () => chosen);
  const now = useSyncExternalStore(subscribe, shown);
  return { chosen: theme, shown: now };
}
