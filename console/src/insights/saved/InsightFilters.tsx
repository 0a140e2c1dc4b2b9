import { ALL_KINDS } from "@/insights/kinds";
import { withValue } from "@/lib/searchParams";
import { Checkbox, SearchInput } from "@/ui/Field";
import { ANY, FilterSelect, tagOptions } from "@/ui/ListFilters";
import { words } from "@/words/insightsSaved";
import type { Insight } from "./queries";
import type { InsightsSearch } from "./search";

interface Props {
  search: InsightsSearch;
  /** All insights; their tags become filter options. */
  insights: readonly Insight[];
  onChange: (search: InsightsSearch) => void;
}

export function InsightFilters({ search, insights, onChange }: Props) {
  const change = <Name extends keyof InsightsSearch>(
    name: Name,
    value: InsightsSearch[Name] | undefined,
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
        label={words.of}
        value={search.mine === undefined ? ANY : "mine"}
        options={[
          { value: ANY, label: words.all },
          { value: "mine", label: words.mine },
        ]}
        onChange={(of) => change("mine", of === ANY ? undefined : true)}
      />
      <FilterSelect
        label={words.kind}
        value={search.kind ?? ANY}
        options={[
          { value: ANY, label: words.anyKind },
          ...ALL_KINDS.map(({ name, label }) => ({ value: name, label })),
        ]}
        onChange={(kind) => change("kind", ALL_KINDS.find(({ name }) => name === kind)?.name)}
      />
      <FilterSelect
        label={words.tag}
        value={search.tag ?? ANY}
        options={tagOptions(
          insights.flatMap(({ tags }) => tags),
          search.tag,
          words.anyTag,
        )}
        onChange={(tag) => change("tag", tag === ANY ? undefined : tag)}
      />
      {insights.some((insight) => insight.is_sample) && (
        <Checkbox
          label={words.generated}
          checked={search.generated === true}
          onChange={(isOn) => change("generated", isOn ? true : undefined)}
        />
      )}
    </>
  );
}
