import { SearchInput } from "@/ui/Field";
import { type Option, Select } from "@/ui/Select";
import { words } from "@/words/flagList";
import type { FlagBody } from "../model";
import type { FlagListSearch } from "./search";

const TEXTS = words.filters;
const ANY = "";

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
  ) => {
    const { [name]: _, ...others } = search;
    onChange(value === undefined ? others : { ...others, [name]: value });
  };
  return (
    <>
      <SearchInput
        label={words.search}
        value={search.q ?? ""}
        onChange={(q) => change("q", q === "" ? undefined : q)}
        className="w-64 max-w-full"
      />
      <Choice
        label={TEXTS.active}
        value={textOf(search.active)}
        options={STATES}
        onChange={(active) => change("active", active === ANY ? undefined : active === "true")}
      />
      <Choice
        label={TEXTS.type}
        value={search.type ?? ANY}
        options={KINDS}
        onChange={(type) => change("type", type === ANY ? undefined : type)}
      />
      <Choice
        label={TEXTS.stale}
        value={search.stale === true ? "true" : ANY}
        options={STALE}
        onChange={(stale) => change("stale", stale === ANY ? undefined : true)}
      />
      <Choice
        label={TEXTS.tag}
        value={search.tag ?? ANY}
        options={tagOptions(flags, search.tag)}
        onChange={(tag) => change("tag", tag === ANY ? undefined : tag)}
      />
      <Choice
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

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  options: readonly Option<T>[];
  onChange: (value: T) => void;
}

function Choice<T extends string>({ label, ...select }: ChoiceProps<T>) {
  return (
    <span className="w-40 max-sm:grow max-sm:basis-[40%]">
      <Select aria-label={label} {...select} />
    </span>
  );
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

/** chosen: offered even if no flag has it */
function tagOptions(flags: readonly FlagBody[], chosen: string | undefined): Option<string>[] {
  const tags = new Set([...tagsOf(flags), ...(chosen === undefined ? [] : [chosen])]);
  return [
    { value: ANY, label: TEXTS.anyTag },
    ...[...tags].map((tag) => ({ value: tag, label: tag })),
  ];
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
