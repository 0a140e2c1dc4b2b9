import { activeShortcuts, type Shortcut } from "@/lib/shortcuts";
import { Dialog } from "@/ui/Dialog";
import { Keys } from "@/ui/Kbd";
import { words } from "@/words/app";

/** Every shortcut of the screen that is open. */
export default function ShortcutList({ onClose }: { onClose: () => void }) {
  const listed = activeShortcuts().filter((one) => one.label !== undefined);
  // Two tables of one screen have the same keys.
  const shortcuts = [...new Map(listed.map((one) => [one.keys, one])).values()];
  const groups = ["do", "go"] as const;
  return (
    <Dialog isOpen onClose={onClose} title={words.shortcuts} wide>
      <div className="grid gap-6 sm:grid-cols-2">
        {groups.map((group) => (
          <Group
            key={group}
            title={words.shortcutGroups[group]}
            shortcuts={shortcuts.filter((one) => (one.group ?? "do") === group)}
          />
        ))}
      </div>
    </Dialog>
  );
}

function Group({ title, shortcuts }: { title: string; shortcuts: readonly Shortcut[] }) {
  return (
    <section>
      <h3 className="mb-1 font-medium text-ink-2">{title}</h3>
      <dl>
        {shortcuts.map((one) => (
          <div key={one.keys} className="flex justify-between gap-4 py-1">
            <dt>{one.label}</dt>
            <dd>
              <Keys keys={one.keys} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
