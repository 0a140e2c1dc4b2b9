import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useRouter } from "@tanstack/react-router";
import { LayoutDashboard, Trash2 } from "lucide-react";
import { useEffect, useMemo } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { authorOf, type DashboardSummary, dashboardsQuery, isGenerated } from "@/insights";
import { Badge } from "@/ui/Badge";
import { LinkButton } from "@/ui/Button";
import { Checkbox, SearchInput } from "@/ui/Field";
import { LINK, Page } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { RestoreButton } from "@/ui/RestoreButton";
import { Empty, Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/dashboards";
import { words as common } from "@/words/ui";
import { NewDashboard } from "./NewDashboard";
import { deletedDashboardsQuery, useDashboardChange } from "./queries";
import type { DashboardsSearch } from "./search";

const route = getRouteApi("/signed-in/project/$projectId/dashboards");
const HEADERS = words.columns;
const nameOf = ({ name }: DashboardSummary): string => name || words.untitled;

const COLUMNS: readonly Column<DashboardSummary>[] = [
  {
    id: "name",
    header: HEADERS.name,
    grow: true,
    fixed: true,
    sortable: true,
    cell: (dashboard) => <Visible text={nameOf(dashboard)} />,
    text: nameOf,
  },
  {
    id: "pinned",
    header: HEADERS.pinned,
    width: 90,
    sortable: true,
    cell: ({ pinned }) => (pinned ? words.yes : ""),
    text: ({ pinned }) => pinned,
  },
  {
    id: "tags",
    header: HEADERS.tags,
    width: 180,
    cell: ({ tags }) => (
      <span className="flex min-w-0 gap-1">
        {tags.map((tag) => (
          <Badge key={tag}>
            <Visible text={tag} />
          </Badge>
        ))}
      </span>
    ),
    text: ({ tags }) => tags.join(", "),
  },
  {
    id: "by",
    header: HEADERS.by,
    width: 150,
    sortable: true,
    cell: (dashboard) => <Visible text={authorOf(dashboard)} />,
    text: authorOf,
  },
  {
    id: "created",
    header: HEADERS.created,
    width: 140,
    sortable: true,
    cell: ({ created_at: at }) => <Time at={at} />,
    text: ({ created_at: at }) => new Date(at),
  },
];

export default function DashboardsPage() {
  const { deleted } = route.useSearch();
  const projectId = useProjectId();
  if (!deleted) return <Dashboards projectId={projectId} />;
  return (
    <Page
      title={words.deletedTitle}
      description={words.deletedHint}
      back={
        <Link to="/project/$projectId/dashboards" params={{ projectId }} className={LINK}>
          {words.title}
        </Link>
      }
    >
      <DeletedDashboards projectId={projectId} />
    </Page>
  );
}

function Dashboards({ projectId }: { projectId: string }) {
  const dashboards = useQuery(dashboardsQuery(projectId));
  return (
    <Page
      title={words.title}
      description={words.description}
      actions={
        <>
          <LinkButton
            look="quiet"
            icon={Trash2}
            to="/project/$projectId/dashboards"
            params={{ projectId }}
            search={{ deleted: true }}
          >
            {words.deletedTitle}
          </LinkButton>
          <NewDashboard />
        </>
      }
    >
      <Loaded query={dashboards} rows={6}>
        {(found) => <DashboardTable projectId={projectId} dashboards={found} />}
      </Loaded>
    </Page>
  );
}

interface TableProps {
  projectId: string;
  dashboards: readonly DashboardSummary[];
}

function DashboardTable({ projectId, dashboards }: TableProps) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const rows = useMemo(
    () => dashboards.filter((dashboard) => matches(dashboard, search)),
    [dashboards, search],
  );
  const change = (next: DashboardsSearch) => void navigate({ search: next, replace: true });
  usePreloading(projectId, dashboards[0]?.id);
  if (dashboards.length === 0)
    return (
      <Empty icon={LayoutDashboard} title={words.none}>
        <p>{words.noneHint}</p>
      </Empty>
    );
  const { q: _q, generated: _generated, ...others } = search;
  return (
    <DataTable<DashboardSummary>
      name="dashboards"
      label={words.table}
      columns={COLUMNS}
      rows={rows}
      rowId={({ id }) => String(id)}
      rowLabel={nameOf}
      hrefOf={({ id }) => `/project/${projectId}/dashboards/${id}`}
      csv={{ fileName: words.csvName, all: () => Promise.resolve(rows) }}
      toolbar={
        <>
          <SearchInput
            label={words.search}
            value={search.q ?? ""}
            onChange={(q) =>
              change({
                ...others,
                ...(search.generated && { generated: true }),
                ...(q !== "" && { q }),
              })
            }
            className="w-64 max-w-full"
          />
          {dashboards.some(isGenerated) && (
            <Checkbox
              label={words.generated}
              checked={search.generated === true}
              onChange={(isOn) =>
                change({
                  ...others,
                  ...(search.q !== undefined && { q: search.q }),
                  ...(isOn && { generated: true }),
                })
              }
            />
          )}
        </>
      }
      empty={search.q === undefined ? words.none : words.noMatch}
    />
  );
}

/** Load what shows a dashboard, whichever it is, while the user chooses one. */
function usePreloading(projectId: string, id: number | undefined): void {
  const router = useRouter();
  useEffect(() => {
    if (id === undefined) return;
    const params = { projectId, dashboardId: String(id) };
    void router.preloadRoute({ to: "/project/$projectId/dashboards/$dashboardId", params });
  }, [router, projectId, id]);
}

function matches(dashboard: DashboardSummary, search: DashboardsSearch): boolean {
  const sought = (search.q ?? "").trim().toLowerCase();
  const texts = [nameOf(dashboard), dashboard.description, ...dashboard.tags];
  return (
    texts.some((text) => text.toLowerCase().includes(sought)) &&
    (search.generated !== undefined || !isGenerated(dashboard))
  );
}

const RESTORE: Column<DashboardSummary> = {
  id: "restore",
  header: common.restore,
  width: 130,
  fixed: true,
  cell: (dashboard) => <Restore dashboard={dashboard} />,
  text: () => null,
};
const DELETED_COLUMNS = [...COLUMNS, RESTORE];

function DeletedDashboards({ projectId }: { projectId: string }) {
  const dashboards = useQuery(deletedDashboardsQuery(projectId));
  return (
    <Loaded query={dashboards} rows={6}>
      {(found) => (
        <DataTable<DashboardSummary>
          name="dashboards.deleted"
          label={words.deletedTitle}
          columns={DELETED_COLUMNS}
          rows={found}
          rowId={({ id }) => String(id)}
          rowLabel={nameOf}
          empty={words.noDeleted}
        />
      )}
    </Loaded>
  );
}

function Restore({ dashboard }: { dashboard: DashboardSummary }) {
  const change = useDashboardChange(dashboard.id);
  return (
    <RestoreButton
      name={nameOf(dashboard)}
      canRestore={useCanEdit()}
      restore={() => change.mutateAsync({ deleted: false })}
      restored={words.restored(nameOf(dashboard))}
    />
  );
}
