import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useProjectId } from "@/app/session";
import { Badge } from "@/ui/Badge";
import { SearchInput } from "@/ui/Field";
import { plainName, Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { type Column, DataTable, readSort, writeSort } from "@/ui/table";
import { words } from "@/words/events";
import { type PropertyDefinition, propertiesQuery } from "./queries";
import { definedType } from "./sampledProperties";
import type { ChangeProperties, PropertiesSearch } from "./search";

const FIRST_SORT = "-events";

const columns: readonly Column<PropertyDefinition>[] = [
  {
    id: "name",
    header: words.property.name,
    cell: (row) => (
      <>
        <Visible text={plainName(row.name)} />{" "}
        {row.verified && <Badge tone="good">{words.verified}</Badge>}{" "}
        {row.hidden && <Badge>{words.hidden}</Badge>}{" "}
        {row.column_bytes !== null && <Badge>{words.property.ownColumn(row.column_bytes)}</Badge>}
      </>
    ),
    text: (row) => plainName(row.name),
    grow: true,
    sortable: true,
    fixed: true,
  },
  {
    id: "code",
    header: words.property.code,
    cell: (row) => (
      <code className="font-mono text-[0.9em]">
        <Visible text={row.name} />
      </code>
    ),
    text: (row) => row.name,
    width: 260,
    sortable: true,
  },
  {
    id: "type",
    header: words.property.type,
    cell: (row) => definedType(row),
    text: (row) => definedType(row),
    width: 160,
    sortable: true,
  },
  {
    id: "description",
    header: words.columns.description,
    cell: (row) => <Visible text={row.description} />,
    text: (row) => row.description,
    width: 260,
  },
  {
    id: "events",
    header: words.property.events,
    cell: (row) => words.property.eventCount(row.event_names.length),
    text: (row) => row.event_names.length,
    align: "end",
    width: 190,
    sortable: true,
  },
];

interface TableProps {
  search: PropertiesSearch;
  onChange: ChangeProperties;
}

export function EventPropertyTable({ search, onChange }: TableProps) {
  const properties = useQuery(propertiesQuery(useProjectId()));
  const rows = useMemo(
    () => named(properties.data?.results ?? [], search.q ?? ""),
    [properties.data, search.q],
  );
  return (
    <Loaded query={properties} rows={8}>
      {() => (
        <DataTable
          name="event-properties"
          label={words.property.list.event}
          columns={columns}
          rows={rows}
          rowId={(row) => row.id}
          onOpen={(row) => onChange({ open: row.name })}
          sort={readSort(search.sort ?? FIRST_SORT)}
          onSort={(sort) => onChange({ sort: writeSort(sort) || undefined })}
          empty={words.property.none}
          toolbar={<NameFilter search={search} onChange={onChange} />}
        />
      )}
    </Loaded>
  );
}

export function NameFilter({ search, onChange }: TableProps) {
  return (
    <SearchInput
      label={words.property.filter}
      value={search.q ?? ""}
      onChange={(q) => onChange({ q: q || undefined })}
    />
  );
}

/** Return the properties whose sent or plain name contains the text. */
export function named<Row extends { name: string }>(rows: readonly Row[], text: string): Row[] {
  const wanted = text.trim().toLowerCase();
  return rows.filter(({ name }) =>
    [name, plainName(name)].some((one) => one.toLowerCase().includes(wanted)),
  );
}
