import { Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import type { Column } from "@/ui/table";
import { words } from "@/words/actions";
import { authorOf } from "@/words/insightsSaved";
import type { Action } from "./queries";

/** The events that an action can have, each once. */
const eventsOf = ({ steps }: Action): string =>
  [...new Set(steps.map(({ event }) => event || words.anyEvent))].join(", ");

export const COLUMNS: readonly Column<Action>[] = [
  {
    id: "name",
    header: words.columns.name,
    grow: true,
    fixed: true,
    cell: ({ name }) => <Visible text={name} />,
    text: ({ name }) => name,
  },
  {
    id: "events",
    header: words.columns.events,
    width: 260,
    cell: (action) => <Visible text={eventsOf(action)} />,
    text: eventsOf,
  },
  {
    id: "steps",
    header: words.columns.steps,
    width: 90,
    align: "end",
    cell: ({ steps }) => steps.length,
    text: ({ steps }) => steps.length,
  },
  {
    id: "by",
    header: words.columns.by,
    width: 140,
    cell: (action) => <Visible text={authorOf(action)} />,
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
