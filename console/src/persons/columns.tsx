import { Badge } from "@/ui/Badge";
import { PropertyValue, plainName, Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import type { Column } from "@/ui/table";
import { words } from "@/words/persons";
import type { Person } from "./queries";
import { emailOf, identifiedFirst } from "./queries";

const PROPERTIES_MAX = 60;
const PROPERTY = "property ";
// Names are mostly e-mail addresses.
const ORDERS: Readonly<Record<string, string>> = {
  name: "email",
  email: "email",
  created: "created_at",
};

/** Maps the id of the requested column to the field that the server sorts by. */
export const ordersOf = (column = ""): Readonly<Record<string, string>> =>
  column.startsWith(PROPERTY)
    ? { [column]: `properties.${column.slice(PROPERTY.length)}` }
    : ORDERS;

const FIRST: readonly Column<Person>[] = [
  {
    id: "name",
    header: words.columns.name,
    fixed: true,
    grow: true,
    sortable: true,
    cell: (person) => <TwoLines text={person.name || words.unnamed} />,
    text: (person) => person.name,
  },
  {
    id: "email",
    header: words.columns.email,
    grow: true,
    sortable: true,
    cell: (person) => <TwoLines text={emailOf(person)} />,
    text: emailOf,
  },
  {
    id: "ids",
    header: words.columns.ids,
    grow: true,
    cell: ({ distinct_ids: ids }) => (
      <span className="flex items-baseline gap-1.5">
        <TwoLines text={identifiedFirst(ids)[0] ?? ""} />
        {ids.length > 1 && (
          <span className="shrink-0 text-ink-3">{words.moreIds(ids.length - 1)}</span>
        )}
      </span>
    ),
    text: (person) => identifiedFirst(person.distinct_ids).join(" "),
  },
  {
    id: "identified",
    header: words.columns.identified,
    width: 120,
    cell: (person) => (
      <Badge tone={person.is_identified ? "good" : "neutral"}>
        {person.is_identified ? words.identified : words.anonymous}
      </Badge>
    ),
    text: (person) => person.is_identified,
  },
  {
    id: "created",
    header: words.columns.created,
    sortable: true,
    width: 130,
    cell: (person) => <Time at={person.created_at} />,
    text: (person) => new Date(person.created_at),
  },
];

/** All of a long one is on the page of the person. */
function TwoLines({ text }: { text: string }) {
  return (
    <span className="line-clamp-2">
      <Visible text={text} />
    </span>
  );
}

export const HIDDEN_AT_FIRST = ["email"];

/** The columns of a list that the server can sort by any of them. sorted: the current sort column */
export const sortableColumnsOf = (persons: readonly Person[], sorted = ""): Column<Person>[] =>
  columnsOf(persons, sorted).map((column) =>
    column.id.startsWith(PROPERTY) ? { ...column, sortable: true } : column,
  );

/** Return the columns of every person, then those of the properties, most frequent first. */
export function columnsOf(persons: readonly Person[], sorted = ""): Column<Person>[] {
  const counts = new Map<string, number>();
  if (sorted.startsWith(PROPERTY)) counts.set(sorted.slice(PROPERTY.length), 0);
  for (const person of persons) {
    for (const name of Object.keys(person.properties)) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  counts.delete("email");
  const names = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, PROPERTIES_MAX);
  return [...FIRST, ...names.map(([name]) => propertyColumn(name))];
}

function propertyColumn(name: string): Column<Person> {
  return {
    id: `${PROPERTY}${name}`,
    header: plainName(name),
    cell: ({ properties }) =>
      properties[name] === undefined ? null : <PropertyValue value={properties[name]} />,
    text: ({ properties }) => plainOf(properties[name]),
  };
}

function plainOf(value: unknown): string | number | boolean | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value;
  }
  return JSON.stringify(value);
}
