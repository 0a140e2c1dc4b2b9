import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useProject, useProjectId } from "@/app/session";
import { Code } from "@/ui/Copy";
import { Card } from "@/ui/Page";
import { Select } from "@/ui/Select";
import { Loaded } from "@/ui/States";
import { Tabs } from "@/ui/Tabs";
import { words } from "@/words/flagUsage";
import type { Flag } from "../model";
import { variantsOf } from "../model";
import { useHost } from "../queries";
import { LANGUAGES, type Language, snippet } from "../snippets";
import { DailyChart, seriesOf } from "./DailyChart";
import { RemovalCard } from "./RemovalCard";
import { UsageDashboard } from "./UsageDashboard";
import {
  type ByValue,
  eventsTrend,
  propertyOf,
  RANGES,
  type Range,
  trendQuery,
  usageQuery,
} from "./usageQueries";

/** How often the flag is evaluated and called, with which value, and whether it is still needed. */
export function UsageTab({ flag }: { flag: Flag }) {
  const projectId = useProjectId();
  const zone = useProject()?.timezone ?? "UTC";
  const [range, setRange] = useState<Range>("-30d");
  const usage = useQuery(usageQuery(projectId, flag.id, range));
  const choice = (
    <Select
      className="max-w-44"
      aria-label={words.range}
      value={range}
      options={RANGES.map((value) => ({ value, label: words.ranges[value] }))}
      onChange={setRange}
    />
  );
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <RemovalCard flag={flag} />
      <Snippets flag={flag} />
      <div className="flex items-center gap-2 lg:col-span-2">
        <h2 className="whitespace-nowrap font-semibold">{words.over}</h2>
        {choice}
      </div>
      <Card title={words.calls.title} description={words.calls.hint}>
        <Loaded query={usage} rows={5}>
          {({ calls, days }) => (
            <Chart texts={words.calls} flag={flag} entries={calls} days={days} zone={zone} />
          )}
        </Loaded>
      </Card>
      <Card title={words.evaluations.title} description={words.evaluations.hint}>
        <Loaded query={usage} rows={5}>
          {({ evaluations, days }) => (
            <Chart
              texts={words.evaluations}
              flag={flag}
              entries={evaluations}
              days={days}
              zone={zone}
            />
          )}
        </Loaded>
      </Card>
      <Events flag={flag} range={range} />
      <UsageDashboard flag={flag} />
    </div>
  );
}

interface ChartProps {
  texts: { none: string; what: (key: string) => string };
  flag: Flag;
  entries: readonly Omit<ByValue, "count">[];
  days: readonly string[];
  zone: string;
}

function Chart({ texts, flag, entries, days, zone }: ChartProps) {
  if (entries.length === 0) return <p className="text-ink-2">{texts.none}</p>;
  const what = texts.what(flag.key);
  return (
    <DailyChart
      what={what}
      days={days}
      zone={zone}
      series={seriesOf(entries)}
      fileName={what}
      note={words.total(entries.flatMap((one) => one.data).reduce((sum, one) => sum + one, 0))}
    />
  );
}

function Events({ flag, range }: { flag: Flag; range: Range }) {
  const projectId = useProjectId();
  const trend = useQuery(trendQuery(projectId, eventsTrend(flag.key, range)));
  return (
    <Card title={words.events.title} description={words.events.hint(propertyOf(flag.key))}>
      <Loaded query={trend} rows={5}>
        {({ days, series, zone }) => (
          <Chart
            texts={words.events}
            flag={flag}
            entries={series.map(({ name, values }) => ({ value: name, data: [...values] }))}
            days={days}
            zone={zone}
          />
        )}
      </Loaded>
    </Card>
  );
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
