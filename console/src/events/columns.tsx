import { Sparkline } from "@/charts";
import { Badge } from "@/ui/Badge";
import { Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import type { Column } from "@/ui/table";
import { words } from "@/words/events";
import { formatNumber } from "@/words/format";
import type { Definition } from "./queries";

/** total: of 30 days, null where it is not known; counts: by day */
export interface EventItem {
  definition: Definition;
  total: number | null;
  counts: readonly number[];
}

export const columns: readonly Column<EventItem>[] = [
  {
    id: "name",
    header: words.columns.name,
    cell: (row) => <Name row={row} />,
    text: (row) => row.definition.name,
    grow: true,
    sortable: true,
    fixed: true,
  },
  {
    id: "volume",
    header: words.columns.volume,
    cell: (row) => (row.total === null ? "–" : formatNumber(row.total)),
    text: (row) => row.total,
    align: "end",
    width: 175,
    sortable: true,
  },
  {
    id: "spark",
    header: words.columns.spark,
    cell: (row) =>
      row.counts.length > 0 && (
        <Sparkline
          label={words.sparkLabel(row.definition.name)}
          values={row.counts}
          width={96}
          isPartial
        />
      ),
    text: (row) => row.counts.join(" "),
    width: 120,
  },
  {
    id: "seen",
    header: words.columns.seen,
    cell: (row) => <Time at={row.definition.last_seen_at} />,
    text: (row) => dateOf(row.definition.last_seen_at),
    width: 140,
    sortable: true,
  },
  {
    id: "tags",
    header: words.columns.tags,
    cell: (row) => (
      <span className="flex gap-1">
        {row.definition.tags.map((tag) => (
          <Badge key={tag}>
            <Visible text={tag} />
          </Badge>
        ))}
      </span>
    ),
    text: (row) => row.definition.tags.join(", "),
    width: 160,
  },
  {
    id: "description",
    header: words.columns.description,
    cell: (row) => <Visible text={row.definition.description} />,
    text: (row) => row.definition.description,
    width: 260,
  },
  {
    id: "owner",
    header: words.columns.owner,
    cell: (row) => <Visible text={row.definition.owner?.first_name ?? ""} />,
    text: (row) => row.definition.owner?.email ?? "",
    width: 140,
    sortable: true,
  },
  {
    id: "created",
    header: words.columns.created,
    cell: (row) => <Time at={row.definition.created_at} />,
    text: (row) => dateOf(row.definition.created_at),
    width: 140,
    sortable: true,
  },
];

const dateOf = (text: string | null): Date | null => (text === null ? null : new Date(text));

function Name({ row }: { row: EventItem }) {
  return (
    <span className="inline-flex max-w-full items-center gap-2">
      <span className="truncate [&_bdi]:whitespace-nowrap">
        <Visible text={row.definition.name} />
      </span>
      {row.definition.verified && <Badge tone="good">{words.verified}</Badge>}
      {row.definition.hidden && <Badge>{words.hidden}</Badge>}
    </span>
  );
}
