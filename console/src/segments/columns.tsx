import { Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import type { Column } from "@/ui/table";
import { authorOf } from "@/words/insightsSaved";
import { words } from "@/words/segments";
import type { Segment } from "./queries";

export const COLUMNS: readonly Column<Segment>[] = [
  {
    id: "name",
    header: words.columns.name,
    grow: true,
    fixed: true,
    cell: ({ name }) => <Visible text={name} />,
    text: ({ name }) => name,
  },
  {
    id: "description",
    header: words.columns.description,
    width: 260,
    cell: ({ description = "" }) => <Visible text={description} />,
    text: ({ description = "" }) => description,
  },
  {
    id: "by",
    header: words.columns.by,
    width: 140,
    cell: (segment) => <Visible text={authorOf(segment)} />,
    text: authorOf,
  },
  {
    id: "updated",
    header: words.columns.updated,
    width: 140,
    cell: ({ updated_at: at }) => <Time at={at} />,
    text: ({ updated_at: at }) => new Date(at),
  },
];
