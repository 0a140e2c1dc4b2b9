import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useProjectId } from "@/app/session";
import { plainName, Visible } from "@/ui/properties";
import { Select } from "@/ui/Select";
import { Loaded } from "@/ui/States";
import { type Column, DataTable, readSort, writeSort } from "@/ui/table";
import { words } from "@/words/events";
import { formatShare } from "@/words/format";
import { NameFilter, named } from "./EventPropertyTable";
import {
  groupPropertiesQuery,
  groupTypesQuery,
  personPropertiesQuery,
  type Sampled,
  typeName,
} from "./sampledProperties";
import type { ChangeProperties, PropertiesSearch } from "./search";

interface Row {
  name: string;
  types: string;
  share: number;
}

const columns: readonly Column<Row>[] = [
  {
    id: "name",
    header: words.property.name,
    cell: (row) => <Visible text={plainName(row.name)} />,
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
    cell: (row) => row.types,
    text: (row) => row.types,
    width: 160,
    sortable: true,
  },
  {
    id: "share",
    header: words.property.share,
    cell: (row) => formatShare(Math.round(row.share)),
    text: (row) => row.share,
    align: "end",
    width: 130,
    sortable: true,
  },
];

interface SampledProps {
  search: PropertiesSearch;
  onChange: ChangeProperties;
}

export function PersonProperties(props: SampledProps) {
  const sample = useQuery(personPropertiesQuery(useProjectId()));
  return (
    <Loaded query={sample} rows={8}>
      {(found) => (
        <SampleTable {...props} sample={found} owner="person" what={words.property.persons} />
      )}
    </Loaded>
  );
}

export function GroupProperties(props: SampledProps) {
  const types = useQuery(groupTypesQuery(useProjectId()));
  return (
    <Loaded query={types} rows={8}>
      {(found) => {
        const chosen = found.find((one) => one.group_type_index === props.search.group) ?? found[0];
        if (chosen === undefined) return <p className="text-ink-2">{words.property.noGroups}</p>;
        return (
          <div className="flex flex-col gap-3">
            <div className="w-48">
              <Select
                aria-label={words.property.groupType}
                value={String(chosen.group_type_index)}
                options={found.map((one) => ({
                  value: String(one.group_type_index),
                  label: one.group_type,
                }))}
                onChange={(type) => props.onChange({ group: Number(type) })}
              />
            </div>
            <OfGroupType {...props} type={chosen.group_type_index} />
          </div>
        );
      }}
    </Loaded>
  );
}

function OfGroupType({ type, ...props }: SampledProps & { type: number }) {
  const sample = useQuery(groupPropertiesQuery(useProjectId(), type));
  return (
    <Loaded query={sample} rows={8}>
      {(found) => (
        <SampleTable {...props} sample={found} owner="group" what={words.property.groups} />
      )}
    </Loaded>
  );
}

interface SampleTableProps extends SampledProps {
  sample: Sampled;
  owner: "person" | "group";
  what: string;
}

function SampleTable({ sample, owner, what, search, onChange }: SampleTableProps) {
  const rows = useMemo(
    () =>
      named(sample.properties, search.q ?? "").map(({ name, types, seen }) => ({
        name,
        types: types.map(typeName).join(", "),
        share: (100 * seen) / sample.size,
      })),
    [sample, search.q],
  );
  return (
    <>
      <DataTable
        name={`${owner}-properties`}
        label={words.property.list[owner]}
        columns={columns}
        rows={rows}
        rowId={(row) => row.name}
        onOpen={(row) => onChange({ open: row.name })}
        sort={readSort(search.sort ?? "-share")}
        onSort={(sort) => onChange({ sort: writeSort(sort) || undefined })}
        empty={words.property.none}
        toolbar={<NameFilter search={search} onChange={onChange} />}
      />
      <p className="mt-2 text-ink-2 text-sm">{words.property.sample(sample.size, what)}</p>
    </>
  );
}
