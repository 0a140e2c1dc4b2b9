import { ListFilter } from "lucide-react";
import { useState } from "react";
import { isComplete, type PropertyFilter, PropertyFilterList } from "@/filters";
import { useTyped } from "@/lib/hooks";
import { Button } from "@/ui/Button";
import { SearchInput } from "@/ui/Field";
import { Select } from "@/ui/Select";
import { words } from "@/words/persons";
import type { PersonsSearch } from "./search";

interface Props {
  search: PersonsSearch;
  onChange: (search: PersonsSearch) => void;
}

export function PersonsToolbar({ search, onChange }: Props) {
  const [isOpen, setOpen] = useState(search.filters !== undefined);
  const place = search.in ?? "id";
  const [text, setText] = useTyped(search.q ?? "", (q) => onChange(searchOf({ ...search, q })));
  const count = search.filters?.length ?? 0;
  return (
    <div className="flex w-full min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <SearchInput
          label={words.search}
          placeholder={words.searchPlaceholders[place]}
          value={text}
          onChange={setText}
          className="w-72 max-w-full"
        />
        <Select
          aria-label={words.searchIn}
          className="w-auto!"
          value={place}
          options={[
            { value: "id", label: words.searchPlaces.id },
            { value: "name", label: words.searchPlaces.name },
          ]}
          onChange={(chosen) => {
            const { in: _, ...others } = search;
            onChange(chosen === "name" ? { ...others, in: chosen } : others);
          }}
        />
        <Button icon={ListFilter} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {count > 0 ? words.filterCount(count) : words.filter}
        </Button>
      </div>
      {isOpen && <Conditions search={search} onChange={onChange} />}
    </div>
  );
}

function searchOf({ q, ...others }: PersonsSearch): PersonsSearch {
  return q ? { ...others, q } : others;
}

/** Incomplete conditions are kept here; only complete ones are asked for. */
function Conditions({ search, onChange }: Props) {
  const [filters, setFilters] = useState<readonly PropertyFilter[]>(search.filters ?? []);
  const change = (next: readonly PropertyFilter[]) => {
    setFilters(next);
    const complete = next.filter((one) => isComplete(one));
    const { filters: _, ...others } = search;
    if (JSON.stringify(complete) !== JSON.stringify(search.filters ?? [])) {
      onChange(complete.length > 0 ? { ...others, filters: complete } : others);
    }
  };
  return (
    <div className="rounded-lg border border-line bg-panel p-3">
      <PropertyFilterList
        label={words.filters}
        filters={filters}
        onChange={change}
        use="query"
        allowed={["person"]}
      />
    </div>
  );
}
