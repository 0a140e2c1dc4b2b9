/** keys: as of a shortcut, "mod+k" or "g f" */
export function Keys({ keys }: { keys: string }) {
  return (
    <span className="inline-flex gap-1 text-ink-3 text-sm">
      {keys.split(/[ +]/).map((key) => (
        <kbd key={key} className="rounded border border-line bg-sunken px-1.5 font-sans">
          {shownKey(key)}
        </kbd>
      ))}
    </span>
  );
}

const isMac = navigator.platform.startsWith("Mac");
const SHOWN: Record<string, string> = {
  mod: isMac ? "⌘" : "Ctrl",
  alt: isMac ? "⌥" : "Alt",
  shift: "⇧",
  enter: "↵",
  escape: "Esc",
  arrowup: "↑",
  arrowdown: "↓",
};

const shownKey = (key: string): string =>
  SHOWN[key] ?? (key.length === 1 ? key.toUpperCase() : key);
