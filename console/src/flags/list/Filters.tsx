import { withValue } from "@/lib/searchParams";
import { SearchInput } from "@/ui/Field";
import { ANY, FilterSelect, tagOptions } from "@/ui/ListFilters";
import type { Option } from "@/ui/Select";
import { words } from "@/words/flagList";
import type { FlagBody } from "../model";
import type { FlagListSearch } from "./search";

const TEXTS = words.filters;

interface Props {
  search: FlagListSearch;
  /** All flags, whose tags and authors are offered. */
  flags: readonly FlagBody[];
  onChange: (search: FlagListSearch) => void;
}

export function Filters({ search, flags, onChange }: Props) {
  const change = <Name extends keyof FlagListSearch>(
    name: Name,
    value: FlagListSearch[Name] | undefined,
  ) => onChange(withValue(search, name, value));
  return (
    <>
      <SearchInput
        label={words.search}
        value={search.q ?? ""}
        onChange={(q) => change("q", q === "" ? undefined : q)}
        className="w-64 max-w-full"
      />
      <FilterSelect
        label={TEXTS.active}
        value={textOf(search.active)}
        options={STATES}
        onChange={(active) => change("active", active === ANY ? undefined : active === "true")}
      />
      <FilterSelect
        label={TEXTS.type}
        value={search.type ?? ANY}
        options={KINDS}
        onChange={(type) => change("type", type === ANY ? undefined : type)}
      />
      <FilterSelect
        label={TEXTS.stale}
        value={search.stale === true ? "true" : ANY}
        options={STALE}
        onChange={(stale) => change("stale", stale === ANY ? undefined : true)}
      />
      <FilterSelect
        label={TEXTS.tag}
        value={search.tag ?? ANY}
        options={tagOptions(tagsOf(flags), search.tag, TEXTS.anyTag)}
        onChange={(tag) => change("tag", tag === ANY ? undefined : tag)}
      />
      <FilterSelect
        label={TEXTS.by}
        value={search.by === undefined ? ANY : String(search.by)}
        options={authorOptions(flags, search.by)}
        onChange={(by) => change("by", by === ANY ? undefined : Number(by))}
      />
    </>
  );
}

function textOf(active: boolean | undefined): "" | "true" | "false" {
  if (active === undefined) return ANY;
  return active ? "true" : "false";
}

const STATES: readonly Option<"" | "true" | "false">[] = [
  { value: ANY, label: TEXTS.anyState },
  { value: "true", label: TEXTS.on },
  { value: "false", label: TEXTS.off },
];

const KINDS: readonly Option<"" | "boolean" | "multivariant">[] = [
  { value: ANY, label: TEXTS.anyType },
  { value: "boolean", label: TEXTS.boolean },
  { value: "multivariant", label: TEXTS.multivariant },
];

const STALE: readonly Option<"" | "true">[] = [
  { value: ANY, label: TEXTS.anyStale },
  { value: "true", label: TEXTS.onlyStale },
];

export function tagsOf(flags: readonly FlagBody[]): string[] {
  return [...new Set(flags.flatMap((flag) => flag.tags))].toSorted();
}

function authorOptions(flags: readonly FlagBody[], chosen: number | undefined): Option<string>[] {
  const authors = new Map<number, string>();
  if (chosen !== undefined) authors.set(chosen, String(chosen));
  for (const { created_by: by } of flags) {
    if (by !== null) authors.set(by.id, by.first_name || by.email);
  }
  const options = [...authors].map(([id, label]) => ({ value: String(id), label }));
  return [{ value: ANY, label: TEXTS.anyone }, ...options];
}
