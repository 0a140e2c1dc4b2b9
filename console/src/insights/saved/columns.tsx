import { Badge } from "@/ui/Badge";
import { Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import type { Column } from "@/ui/table";
import { words as builderWords } from "@/words/insightsBuilder";
import { authorOf, nameOfInsight, words } from "@/words/insightsSaved";
import type { Insight } from "./queries";
import { kindOfStored } from "./stored";

const HEADERS = words.columns;

/** The name of an insight's kind. */
export function kindLabel(insight: Insight): string {
  const kind = kindOfStored(insight);
  const labels: Readonly<Record<string, string>> = builderWords.kinds;
  return labels[kind] ?? kind;
}

const timeOf = (at: string | undefined): Date | null => (at === undefined ? null : new Date(at));

/** seen: when this browser last showed each insight, by id */
export const columnsOf = (seen: Readonly<Record<string, string>>): readonly Column<Insight>[] => [
  {
    id: "name",
    header: HEADERS.name,
    grow: true,
    fixed: true,
    sortable: true,
    cell: (insight) => <Visible text={nameOfInsight(insight)} />,
    text: nameOfInsight,
  },
  {
    id: "kind",
    header: HEADERS.kind,
    width: 110,
    sortable: true,
    cell: (insight) => <Badge>{kindLabel(insight)}</Badge>,
    text: kindLabel,
  },
  {
    id: "tags",
    header: HEADERS.tags,
    width: 150,
    cell: ({ tags }) => (
      <span className="flex min-w-0 gap-1">
        {tags.map((tag) => (
          <Badge key={tag}>
            <Visible text={tag} />
          </Badge>
        ))}
      </span>
    ),
    text: ({ tags }) => tags.join(", "),
  },
  {
    id: "dashboards",
    header: HEADERS.dashboards,
    width: 135,
    sortable: true,
    cell: ({ dashboards }) => words.dashboards(dashboards.length),
    text: ({ dashboards }) => dashboards.length,
  },
  {
    id: "by",
    header: HEADERS.by,
    width: 130,
    sortable: true,
    cell: (insight) => <Visible text={authorOf(insight)} />,
    text: authorOf,
  },
  {
    id: "modified",
    header: HEADERS.modified,
    width: 130,
    sortable: true,
    cell: ({ last_modified_at: at }) => <Time at={at} />,
    text: ({ last_modified_at: at }) => new Date(at),
  },
  {
    id: "created",
    header: HEADERS.created,
    width: 130,
    sortable: true,
    cell: ({ created_at: at }) => <Time at={at} />,
    text: ({ created_at: at }) => new Date(at),
  },
  {
    id: "seen",
    header: HEADERS.seen,
    width: 155,
    sortable: true,
    cell: ({ id }) => <Time at={seen[id] ?? null} />,
    text: ({ id }) => timeOf(seen[id]),
  },
];
