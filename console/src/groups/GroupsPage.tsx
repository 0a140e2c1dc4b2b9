import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Boxes } from "lucide-react";
import { useMemo } from "react";
import { useProject, useProjectId } from "@/app/session";
import { useTyped } from "@/lib/hooks";
import { everyRow } from "@/lib/paging";
import { prefix } from "@/lib/prefix";
import { LinkButton } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { SearchInput } from "@/ui/Field";
import { Page } from "@/ui/Page";
import { Empty, Failed, Loaded, Skeleton } from "@/ui/States";
import { Tabs } from "@/ui/Tabs";
import { DataTable, orderOf, readSort, writeSort } from "@/ui/table";
import { words } from "@/words/groups";
import { columnsOf, ORDERS } from "./columns";
import { type Group, type GroupType, groupsQuery, groupTypesQuery, readGroups } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/groups");
const CSV_PAGE = 1_000;

export default function GroupsPage() {
  const types = useQuery(groupTypesQuery(useProjectId()));
  return (
    <Page title={words.title} description={words.description}>
      <Loaded query={types}>
        {(found) => (found.length === 0 ? <NoGroups /> : <GroupTypes types={found} />)}
      </Loaded>
    </Page>
  );
}

function GroupTypes({ types }: { types: readonly GroupType[] }) {
  const { type = types[0]?.group_type_index ?? 0 } = route.useSearch();
  const navigate = route.useNavigate();
  const tabs = types.map((one) => ({
    id: String(one.group_type_index),
    label: one.name_plural || one.group_type,
    content: <GroupsOfType key={one.group_type_index} type={one} />,
  }));
  return (
    <Tabs
      label={words.types}
      tabs={tabs}
      selected={String(type)}
      onSelect={(id) => void navigate({ search: id === "0" ? {} : { type: Number(id) } })}
    />
  );
}

function GroupsOfType({ type }: { type: GroupType }) {
  const projectId = useProjectId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { q: _, ...others } = search;
  const [text, setText] = useTyped(
    search.q ?? "",
    (q) => void navigate({ search: q ? { ...others, q } : others, replace: true }),
  );
  const index = type.group_type_index;
  const sort = readSort(search.sort ?? "");
  const question = { search: search.q ?? "", order: orderOf(sort, ORDERS) };
  const groups = useInfiniteQuery(groupsQuery(projectId, index, question));
  const rows = useMemo(
    () => groups.data?.pages.flatMap((page) => page.results) ?? [],
    [groups.data],
  );
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const total = groups.data?.pages[0]?.count;
  if (groups.isPending) return <Skeleton rows={6} />;
  return (
    <>
      {groups.isError && <Failed error={groups.error} onRetry={() => void groups.refetch()} />}
      <DataTable<Group>
        name={`groups-${index}`}
        label={type.group_type}
        columns={columns}
        rows={rows}
        rowId={(group) => group.group_key}
        hrefOf={(group) =>
          `/project/${projectId}/groups/${index}/${encodeURIComponent(group.group_key)}`
        }
        {...(total !== undefined && { total })}
        sort={sort}
        onSort={(next) => {
          const { sort: _, ...kept } = search;
          const written = writeSort(next);
          void navigate({ search: written ? { ...kept, sort: written } : kept, replace: true });
        }}
        isSortedByServer
        more={{
          hasMore: groups.hasNextPage,
          isLoading: groups.isFetchingNextPage,
          load: () => void groups.fetchNextPage(),
        }}
        csv={{
          fileName: words.csvName(type.group_type),
          all: (signal) =>
            everyRow((next) => readGroups(projectId, index, question, next, CSV_PAGE, signal)),
        }}
        toolbar={
          <SearchInput
            label={words.search}
            placeholder={words.searchPlaceholder}
            value={text}
            onChange={setText}
            className="w-72 max-w-full"
          />
        }
        empty={search.q === undefined ? words.noneOfType : words.noMatch}
      />
    </>
  );
}

function NoGroups() {
  const projectId = useProjectId();
  const token = useProject()?.api_token ?? "…";
  const host = JSON.stringify(location.origin + prefix);
  const snippet = `posthog.init(${JSON.stringify(token)}, { api_host: ${host} });
posthog.group("company", "acme", { name: "Acme", plan: "enterprise" });`;
  return (
    <Empty icon={Boxes} title={words.emptyTitle}>
      <p>{words.emptyHint}</p>
      <div className="w-full min-w-0 max-w-xl">
        <Code text={snippet} what={words.snippet} />
      </div>
      <LinkButton look="primary" to="/project/$projectId" params={{ projectId }}>
        {words.toHome}
      </LinkButton>
    </Empty>
  );
}
