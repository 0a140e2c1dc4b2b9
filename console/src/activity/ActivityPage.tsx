import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { organizationQuery, useProject, useProjectId } from "@/app/session";
import { useSettled } from "@/lib/hooks";
import { classes } from "@/ui/classes";
import { DateRangeField } from "@/ui/DateRange";
import { SearchInput } from "@/ui/Field";
import { Card, Page } from "@/ui/Page";
import { readRange, withRange } from "@/ui/ranges";
import { SelectField } from "@/ui/Select";
import { Loaded } from "@/ui/States";
import { type Column, CsvButton } from "@/ui/table";
import { words } from "@/words/activity";
import { ActivityList } from "./ActivityList";
import { type ActivityEntry, actionsOf, actorOf } from "./describe";
import { itemHref } from "./itemHref";
import { activityQuery, authorsQuery, ENTRIES, everyEntry } from "./queries";
import type { ActivitySearch } from "./search";

const route = getRouteApi("/signed-in/project/$projectId/activity");
const T = words.screen;

const COLUMNS: readonly Column<ActivityEntry>[] = (
  [
    ["time", T.time, (entry) => new Date(entry.created_at)],
    ["who", T.who, actorOf],
    ["email", T.email, (entry) => entry.user.email],
    ["what", T.what, (entry) => actionsOf(entry).join("; ")],
    ["kind", T.kind, (entry) => words.scopes[entry.scope] ?? entry.scope],
    ["item", T.item, (entry) => entry.detail.name],
    ["id", T.id, (entry) => entry.item_id],
  ] satisfies [string, string, Column<ActivityEntry>["text"]][]
).map(([id, header, text]) => ({ id, header, text, cell: () => null }));

/** Everything that happened in a project and in its organization, newest first. */
export default function ActivityPage() {
  const projectId = useProjectId();
  const zone = useProject()?.timezone ?? "UTC";
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const kept = useQuery(organizationQuery).data?.activity_kept_days;
  const activity = useQuery(activityQuery(projectId, search, zone));
  const csv = {
    fileName: T.csvName,
    all: (signal: AbortSignal) => everyEntry(projectId, search, zone, signal),
  };
  return (
    <Page
      title={T.title}
      description={kept ? `${T.hint} ${T.kept(kept)}` : T.hint}
      actions={<CsvButton isAction source={csv} columns={COLUMNS} />}
    >
      <Filters zone={zone} />
      <Card>
        <Loaded query={activity} rows={8}>
          {({ results, total_count: total }) => (
            <ActivityList
              entries={results}
              showItem
              hrefOf={(entry) => itemHref(projectId, entry)}
              empty={T.none}
              pages={{
                page: search.page ?? 1,
                pageSize: ENTRIES,
                total,
                onPage: (page) => void navigate({ search: { ...search, page } }),
              }}
            />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

const PRESETS = ["", "dStart", "-7d", "-30d", "mStart", "-1mStart -1mEnd"] as const;

const withoutPage = ({ page: _, ...search }: ActivitySearch): ActivitySearch => search;

function Filters({ zone }: { zone: string }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const authors = useQuery(authorsQuery).data ?? [];
  const change = (next: { [K in "q" | "who" | "kind" | "what"]?: string }) => {
    const filters = withoutPage({ ...search, ...next });
    const given = Object.fromEntries(Object.entries(filters).filter(([, value]) => value));
    void navigate({ search: given as ActivitySearch, replace: true });
  };
  const kinds = Object.entries(words.scopes).map(([value, label]) => ({ value, label }));
  const actions = Object.entries({ ...T.actions, ...words.activities });
  const users = authors.map(({ uuid, first_name: name, email }) => ({
    value: uuid,
    label: name || email,
  }));
  const any = { value: "", label: T.any };
  return (
    <div className="flex flex-wrap items-end gap-3">
      <TextFilter text={search.q ?? ""} onChange={(q) => change({ q })} />
      <SelectField
        className={FILTER}
        label={T.who}
        value={search.who ?? ""}
        options={[any, ...users, { value: "system", label: words.system }]}
        onChange={(who) => change({ who })}
      />
      <SelectField
        className={FILTER}
        label={T.kind}
        value={search.kind ?? ""}
        options={[any, ...kinds]}
        onChange={(kind) => change({ kind })}
      />
      <SelectField
        className={classes("max-w-56 max-sm:max-w-full", FILTER)}
        label={T.what}
        value={search.what ?? ""}
        options={[any, ...actions.map(([value, label]) => ({ value, label }))]}
        onChange={(what) => change({ what })}
      />
      <DateRangeField
        value={readRange(search, {})}
        zone={zone}
        presets={PRESETS}
        onChange={(range) => void navigate({ search: withRange(withoutPage(search), range) })}
      />
    </div>
  );
}

const FILTER = "max-sm:grow max-sm:basis-[40%]";

function TextFilter({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const [typed, setTyped] = useState(text);
  const settled = useSettled(typed);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what was typed changes the address.
  useEffect(() => {
    if (settled !== text) onChange(settled);
  }, [settled]);
  return <SearchInput label={T.search} value={typed} onChange={setTyped} />;
}
