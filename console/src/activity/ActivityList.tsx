import { type ReactNode, useState } from "react";
import { Button } from "@/ui/Button";
import { JsonDiff } from "@/ui/JsonDiff";
import { Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import { words } from "@/words/activity";
import { type ActivityEntry, actionsOf, actorOf, hasDifference, headlineOf } from "./describe";

export interface ActivityListProps {
  entries: readonly ActivityEntry[];
  /** The items' names, where the list is not of one item. */
  showItem?: boolean;
  /** Path of an item's page. */
  hrefOf?: (entry: ActivityEntry) => string | undefined;
  /** Shown as a button on entries that have changes. */
  onRestore?: (entry: ActivityEntry) => void;
  canRestore?: (entry: ActivityEntry) => boolean;
  pages?: ActivityPages;
  empty?: ReactNode;
}

export interface ActivityPages {
  /** The first page is 1. */
  page: number;
  pageSize: number;
  total: number;
  onPage: (page: number) => void;
}

/** A list of who did what and when, newest first. */
export function ActivityList(props: ActivityListProps) {
  const { entries, pages } = props;
  if (entries.length === 0)
    return <div className="py-4 text-ink-2">{props.empty ?? words.empty}</div>;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <ol aria-label={words.list} className="flex min-w-0 flex-col">
        {entries.map((entry, place) => (
          <Entry key={keyOf(entry, place)} entry={entry} {...props} />
        ))}
      </ol>
      {pages && pages.total > pages.pageSize && <Pages {...pages} />}
    </div>
  );
}

function Entry({
  entry,
  showItem,
  hrefOf,
  onRestore,
  canRestore,
}: ActivityListProps & { entry: ActivityEntry }) {
  const [isOpen, setIsOpen] = useState(false);
  const changes = entry.detail.changes ?? [];
  const isDifferent = hasDifference(entry);
  const actions = actionsOf(entry);
  const headline = (actions.length === 1 ? actions[0] : undefined) ?? headlineOf(entry);
  const hasRestore =
    onRestore !== undefined &&
    (canRestore?.(entry) ?? (entry.activity === "updated" && changes.length > 0));
  return (
    <li className="border-b border-line py-2 last:border-b-0">
      <div className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
        <div className="min-w-0 flex-1 basis-64">
          <span className="font-medium" title={entry.user.email ?? undefined}>
            <Visible text={actorOf(entry)} />
          </span>{" "}
          <Visible text={headline} />
          {showItem && (
            <>
              {": "}
              <Item entry={entry} href={hrefOf?.(entry)} />
            </>
          )}
          {actions.length > 1 && (
            <ul className="ms-4 list-disc marker:text-ink-3">
              {actions.map((action) => (
                <li key={action}>
                  <Visible text={action} />
                </li>
              ))}
            </ul>
          )}
        </div>
        <span className="shrink-0 text-ink-3 text-sm">
          <Time at={entry.created_at} />
        </span>
      </div>
      {(isDifferent || hasRestore) && (
        <div className="mt-0.5 flex flex-wrap gap-3 text-sm">
          {isDifferent && (
            <button
              type="button"
              aria-expanded={isOpen}
              className="rounded text-accent-text hover:underline"
              onClick={() => setIsOpen(!isOpen)}
            >
              {isOpen ? words.hide : words.difference}
            </button>
          )}
          {hasRestore && (
            <button
              type="button"
              className="rounded text-accent-text hover:underline"
              onClick={() => onRestore(entry)}
            >
              {words.restore}
            </button>
          )}
        </div>
      )}
      {isOpen && <Differences entry={entry} />}
    </li>
  );
}

function Item({ entry, href }: { entry: ActivityEntry; href: string | undefined }) {
  const name = <Visible text={entry.detail.name || entry.item_id} />;
  return href === undefined ? (
    name
  ) : (
    <a href={href} className="underline decoration-line-strong hover:decoration-current">
      {name}
    </a>
  );
}

function Differences({ entry }: { entry: ActivityEntry }) {
  const changes = entry.detail.changes ?? [];
  const side = (of: "before" | "after") =>
    Object.fromEntries(
      changes
        .filter((change) => change[of] !== null && change[of] !== undefined)
        .map((change) => [change.field, change[of]]),
    );
  return (
    <div className="mt-2 rounded-md border border-line bg-canvas p-2">
      <JsonDiff before={side("before")} after={side("after")} />
    </div>
  );
}

function Pages({ page, pageSize, total, onPage }: ActivityPages) {
  const from = (page - 1) * pageSize + 1;
  return (
    <nav aria-label={words.list} className="flex items-center gap-2 text-sm">
      <Button small disabled={page <= 1} onClick={() => onPage(page - 1)}>
        {words.newer}
      </Button>
      <Button small disabled={page * pageSize >= total} onClick={() => onPage(page + 1)}>
        {words.older}
      </Button>
      <span className="text-ink-3">
        {words.range(from, Math.min(total, page * pageSize), total)}
      </span>
    </nav>
  );
}

/** Entries have no id. */
function keyOf(entry: ActivityEntry, place: number): string {
  return `${entry.created_at} ${entry.scope} ${entry.item_id} ${place}`;
}
