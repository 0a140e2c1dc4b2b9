import { type ReactNode, useState } from "react";
import { CopyButton } from "@/ui/Copy";
import { SearchInput } from "@/ui/Field";
import { words } from "@/words/properties";
import { isSystemName, plainName } from "./names";
import { PropertyValue, plainValue } from "./PropertyValue";
import { Visible } from "./SafeText";

export interface PropertiesTableProps {
  /** Accessible name, such as "Properties of the event". */
  label: string;
  properties: Readonly<Record<string, unknown>>;
  /** Actions at the end of a row, such as edit and delete. */
  actions?: (name: string, value: unknown) => ReactNode;
  /** Elements beside the search box. */
  toolbar?: ReactNode;
  empty?: ReactNode;
}

const SEARCH_FROM = 8;

/** Properties by name: first those of the project's own making, then those that clients set. */
export function PropertiesTable(props: PropertiesTableProps) {
  const [search, setSearch] = useState("");
  const all = sorted(props.properties);
  const shown = all.filter(([name, value]) => matches(name, value, search));
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {(all.length >= SEARCH_FROM || props.toolbar) && (
        <div className="flex flex-wrap items-center gap-2">
          {all.length >= SEARCH_FROM && (
            <SearchInput label={words.search} value={search} onChange={setSearch} />
          )}
          <span role="status" className="text-sm text-ink-3">
            {words.count(shown.length, all.length)}
          </span>
          {props.toolbar}
        </div>
      )}
      {shown.length === 0 ? (
        <p className="py-3 text-ink-2">
          {search === "" ? (props.empty ?? words.none) : words.noMatch(search)}
        </p>
      ) : (
        <table
          aria-label={props.label}
          className="w-full table-fixed border-separate border-spacing-0"
        >
          <colgroup>
            <col className="w-[38%] sm:w-64" />
            <col />
          </colgroup>
          <thead className="sr-only">
            <tr>
              <th scope="col">{words.name}</th>
              <th scope="col">{words.value}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(([name, value]) => (
              <PropertyRow key={name} name={name} value={value} actions={props.actions} />
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function PropertyRow(props: {
  name: string;
  value: unknown;
  actions: PropertiesTableProps["actions"];
}) {
  const { name, value } = props;
  const plain = plainName(name);
  return (
    <tr className="group">
      <th
        scope="row"
        title={plain === name ? undefined : name}
        className="border-b border-line py-1.5 pe-3 text-start align-top font-normal text-ink-2 group-last:border-b-0 "
      >
        <Visible text={plain} />
        {plain !== name && <span className="sr-only">{name}</span>}
      </th>
      <td className="border-b border-line py-1.5 align-top group-last:border-b-0">
        <div className="flex min-w-0 items-start gap-2">
          <div className="min-w-0 flex-1">
            <PropertyValue value={value} />
          </div>
          <span className="-my-1 flex shrink-0 items-center gap-1">
            <span className="opacity-0 focus-within:opacity-100 group-hover:opacity-100 [@media(hover:none)]:opacity-100">
              <CopyButton text={plainValue(value)} what={words.valueOf(plain)} />
            </span>
            {props.actions?.(name, value)}
          </span>
        </div>
      </td>
    </tr>
  );
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function sorted(properties: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(properties).sort(
    ([a], [b]) =>
      Number(isSystemName(a)) - Number(isSystemName(b)) ||
      collator.compare(plainName(a), plainName(b)),
  );
}

function matches(name: string, value: unknown, search: string): boolean {
  const wanted = search.trim().toLowerCase();
  if (wanted === "") return true;
  return [name, plainName(name), plainValue(value)].some((text) =>
    text.toLowerCase().includes(wanted),
  );
}
