import { KINDS } from "@/insights/kinds";
import { Checkbox, SearchInput } from "@/ui/Field";
import { type Option, Select } from "@/ui/Select";
import { words } from "@/words/insightsSaved";
import type { Insight } from "./queries";
import type { InsightsSearch } from "./search";

interface Props {
  search: InsightsSearch;
  /** All insights; their tags become filter options. */
  insights: readonly Insight[];
  onChange: (search: InsightsSearch) => void;
}

const ANY = "";

export function InsightFilters({ search, insights, onChange }: Props) {
  const change = <Name extends keyof InsightsSearch>(
    name: Name,
    value: InsightsSearch[Name] | undefined,
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
        label={words.of}
        value={search.mine === undefined ? ANY : "mine"}
        options={[
          { value: ANY, label: words.all },
          { value: "mine", label: words.mine },
        ]}
        onChange={(of) => change("mine", of === ANY ? undefined : true)}
      />
      <Choice
        label={words.kind}
        value={search.kind ?? ANY}
        options={[
          { value: ANY, label: words.anyKind },
          ...KINDS.map(({ name, label }) => ({ value: name, label })),
        ]}
        onChange={(kind) => change("kind", KINDS.find(({ name }) => name === kind)?.name)}
      />
      <Choice
        label={words.tag}
        value={search.tag ?? ANY}
        options={tagOptions(insights, search.tag)}
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

function tagOptions(insights: readonly Insight[], chosen: string | undefined): Option<string>[] {
  const tags = new Set(insights.flatMap((insight) => insight.tags));
  if (chosen !== undefined) tags.add(chosen);
  const sorted = [...tags].toSorted((a, b) => a.localeCompare(b));
  return [
    { value: ANY, label: words.anyTag },
    ...sorted.map((tag) => ({ value: tag, label: tag })),
  ];
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly Option<string>[];
  onChange: (value: string) => void;
}

function Choice({ label, ...select }: ChoiceProps) {
  return (
    <span className="w-40">
      <Select aria-label={label} {...select} />
    </span>
  );
}
