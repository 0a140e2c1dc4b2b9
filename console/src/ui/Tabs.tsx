import { Tabs as Radix } from "radix-ui";
import { type ReactNode, Suspense } from "react";
import { Skeleton } from "@/ui/States";

export interface Tab<T extends string> {
  id: T;
  label: string;
  /** A count, shown beside the label. */
  note?: ReactNode;
  content: ReactNode;
}

interface TabsProps<T extends string> {
  label: string;
  tabs: readonly Tab<T>[];
  /** The selected tab, from the URL: a tab is part of the address of a screen. */
  selected: T;
  onSelect: (id: T) => void;
}

/** A narrow window has room for the first tabs alone. The page itself stays where it is. */
function reveal(tab: HTMLElement | null): void {
  const list = tab?.parentElement;
  if (!tab || !list) return;
  const left = tab.offsetLeft - list.offsetLeft;
  list.scrollLeft = left - (list.clientWidth - tab.offsetWidth) / 2;
}

/** Only the content of the selected tab is drawn; it may be loaded then (`lazy`). */
export function Tabs<T extends string>({ label, tabs, selected, onSelect }: TabsProps<T>) {
  const select = (id: string) => {
    const tab = tabs.find((one) => one.id === id);
    if (tab !== undefined) onSelect(tab.id);
  };
  return (
    <Radix.Root value={selected} onValueChange={select}>
      <Radix.List
        aria-label={label}
        className="mb-4 flex gap-4 overflow-x-auto border-line border-b"
      >
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.id}
            value={tab.id}
            ref={tab.id === selected ? reveal : undefined}
            className="-mb-px whitespace-nowrap border-transparent border-b-2 px-0.5 py-2 text-ink-2 hover:text-ink data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink"
          >
            {tab.label}
            {tab.note !== undefined && (
              <span className="ml-1.5 text-ink-3 text-sm">{tab.note}</span>
            )}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} tabIndex={-1} className="outline-none">
          <Suspense fallback={<Skeleton />}>{tab.content}</Suspense>
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
