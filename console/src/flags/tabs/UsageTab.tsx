import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useProject, useProjectId } from "@/app/session";
import { colorsByValue, type Series } from "@/charts";
import type { Behind } from "@/charts/behind";
import { AskLink, DailyChart, TrendChart, type TrendFilters, trendQuery } from "@/insights";
import { Code } from "@/ui/Copy";
import { DateRangeField } from "@/ui/DateRange";
import { Card } from "@/ui/Page";
import { type Period, previousDays, readRange, withRange } from "@/ui/ranges";
import { Loaded } from "@/ui/States";
import { Tabs } from "@/ui/Tabs";
import { toLocal } from "@/ui/zonedTime";
import { words as rangeWords } from "@/words/dateRange";
import { words } from "@/words/flagUsage";
import type { Flag } from "../model";
import { variantsOf } from "../model";
import { useHost } from "../queries";
import { propertyOf, valuesQuestion } from "../questions";
import type { UsageChart } from "../search";
import { LANGUAGES, type Language, snippet } from "../snippets";
import { RemovalCard } from "./RemovalCard";
import { UsageDashboard } from "./UsageDashboard";
import { type ByValue, callsTrend, eventsTrend, usageQuery } from "./usageQueries";

const route = getRouteApi("/signed-in/project/$projectId/flags/$flagId");
const USUAL = { from: "-30d" };
const PRESETS = ["-7d", "-30d", "-90d", "mStart", "-1mStart -1mEnd"] as const;

/** How often the flag is evaluated and called, with which value, and whether it is still needed. */
export function UsageTab({ flag }: { flag: Flag }) {
  const zone = useProject()?.timezone ?? "UTC";
  const { behind: _, ...search } = route.useSearch();
  const navigate = route.useNavigate();
  const period = readRange(search, USUAL);
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <RemovalCard flag={flag} />
      <Snippets flag={flag} />
      <div className="flex flex-wrap items-center gap-2 lg:col-span-2">
        <h2 className="whitespace-nowrap font-semibold">{words.over}</h2>
        <DateRangeField
          value={period}
          zone={zone}
          presets={PRESETS}
          canCompare
          onChange={(range) =>
            void navigate({ search: withRange(search, range), resetScroll: false })
          }
        />
      </div>
      <ByValueCard flag={flag} chart="calls" filters={callsTrend(flag.key, period)} />
      <Evaluations flag={flag} period={period} zone={zone} />
      <ByValueCard flag={flag} chart="events" filters={eventsTrend(flag.key, period)} />
      <UsageDashboard flag={flag} />
    </div>
  );
}

interface ByValueProps {
  flag: Flag;
  chart: UsageChart;
  filters: TrendFilters;
}

/** A trend of events by the flag's value, whose points open the persons behind them. */
function ByValueCard({ flag, chart, filters }: ByValueProps) {
  const texts = words[chart];
  const trend = useQuery(trendQuery(useProjectId(), filters));
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const what = texts.what(flag.key);
  const onBehind = (behind: Behind | undefined) => {
    const { behind: _, ...others } = search;
    const next = behind === undefined ? others : { ...others, behind: { ...behind, chart } };
    void navigate({ search: next, resetScroll: false });
  };
  return (
    <Card
      title={texts.title}
      description={texts.hint(propertyOf(flag.key))}
      actions={chart === "events" && <AskLink small about={valuesQuestion(flag.key)} />}
    >
      <Loaded query={trend} rows={5}>
        {(found) =>
          found.series.length === 0 ? (
            <p className="text-ink-2">{texts.none}</p>
          ) : (
            <TrendChart
              what={what}
              filters={filters}
              trend={found}
              fileName={what}
              note={words.total(totalOf(found.series.filter((one) => !one.isPrevious)))}
              since={flag.created_at}
              known={variantNames(flag)}
              behind={search.behind?.chart === chart ? search.behind : undefined}
              onBehind={onBehind}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

const variantNames = (flag: Flag): string[] => variantsOf(flag).map((one) => one.name);

const totalOf = (lines: readonly { values: readonly number[] }[]): number =>
  lines.flatMap((one) => one.values).reduce((sum, one) => sum + one, 0);

interface EvaluationsProps {
  flag: Flag;
  period: Period;
  zone: string;
}

/** Evaluations are counted without persons. */
function Evaluations({ flag, period: { range, isCompared }, zone }: EvaluationsProps) {
  const projectId = useProjectId();
  const usage = useQuery(usageQuery(projectId, flag.id, range));
  const before = previousDays(range, usage.data?.days ?? []);
  const previous = useQuery({
    ...usageQuery(projectId, flag.id, before ?? range),
    enabled: isCompared && before !== null,
  });
  const what = words.evaluations.what(flag.key);
  return (
    <Card title={words.evaluations.title} description={words.evaluations.hint}>
      <Loaded query={usage} rows={5}>
        {({ evaluations, days }) => {
          const earlier = isCompared ? (previous.data?.evaluations ?? []) : [];
          const series = evaluationLines(evaluations, earlier, variantNames(flag));
          return series.length === 0 ? (
            <p className="text-ink-2">{words.evaluations.none}</p>
          ) : (
            <DailyChart
              what={what}
              days={days}
              zone={zone}
              isPartial={days.at(-1) === toLocal(new Date(), zone).slice(0, 10)}
              series={series}
              since={flag.created_at}
              fileName={what}
              note={words.total(totalOf(series.filter((one) => !one.isPrevious)))}
            />
          );
        }}
      </Loaded>
    </Card>
  );
}

/** Return a line for each value of each period; the same value has the same colour in both. */
function evaluationLines(
  entries: readonly ByValue[],
  earlier: readonly ByValue[],
  variants: readonly string[],
) {
  const values = [...entries, ...earlier].map((one) => one.value);
  const colors = colorsByValue(values, variants);
  const line = ({ value, data }: ByValue, isPrevious: boolean) => ({
    key: `${isPrevious ? "-" : "+"}${value}`,
    name: isPrevious ? rangeWords.previous(value) : value,
    values: data,
    isPrevious,
    color: colors.get(value) ?? 1,
  });
  return [
    ...entries.map((one) => line(one, false)),
    ...earlier.map((one) => line(one, true)),
  ] satisfies Series[];
}

function Snippets({ flag }: { flag: Flag }) {
  const project = useProject();
  const [language, setLanguage] = useState<Language>("js");
  const asked = {
    key: flag.key,
    token: project?.api_token ?? "",
    host: useHost(),
    variants: variantsOf(flag).map((one) => one.name),
  };
  const names = words.code.languages;
  return (
    <Card title={words.code.title} description={words.code.hint}>
      <Tabs
        label={words.code.tabs}
        selected={language}
        onSelect={setLanguage}
        tabs={LANGUAGES.map((id) => ({
          id,
          label: names[id],
          content: <Code text={snippet(id, asked)} what={words.code.snippet(names[id])} />,
        }))}
      />
    </Card>
  );
}
