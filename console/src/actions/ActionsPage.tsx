import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { MousePointerClick, Plus, Trash2 } from "lucide-react";
import { useCanEdit, useProjectId } from "@/app/session";
import { useTyped } from "@/lib/hooks";
import { LinkButton } from "@/ui/Button";
import { SearchInput } from "@/ui/Field";
import { LINK, Page } from "@/ui/Page";
import { Empty, Failed, Skeleton } from "@/ui/States";
import { DataTable } from "@/ui/table";
import { words } from "@/words/actions";
import { COLUMNS } from "./columns";
import { type Action, actionsQuery } from "./queries";
import type { ActionsSearch } from "./search";

const route = getRouteApi("/signed-in/project/$projectId/actions");

export default function ActionsPage() {
  const projectId = useProjectId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const actions = useQuery(actionsQuery(projectId, search));
  const rows = actions.data ?? [];
  const isEmpty = rows.length === 0 && search.q === undefined && !search.deleted;
  const change = (next: ActionsSearch) => void navigate({ search: next, replace: true });
  return (
    <Page
      {...(search.deleted
        ? { title: words.deletedTitle, back: <Back /> }
        : { title: words.title, description: words.description, actions: <ListActions /> })}
    >
      {actions.isError && <Failed error={actions.error} onRetry={() => void actions.refetch()} />}
      {actions.isPending && <Skeleton rows={6} />}
      {actions.isSuccess && isEmpty && <NoActions />}
      {actions.isSuccess && !isEmpty && (
        <DataTable<Action>
          name="actions"
          label={words.title}
          columns={COLUMNS}
          rows={rows}
          rowId={({ id }) => String(id)}
          rowLabel={({ name }) => name}
          hrefOf={({ id }) => `/project/${projectId}/actions/${id}`}
          total={rows.length}
          csv={{ fileName: words.csvName, all: () => Promise.resolve(rows) }}
          toolbar={<Toolbar search={search} onChange={change} />}
          empty={search.deleted && search.q === undefined ? words.noDeleted : words.noMatch}
        />
      )}
    </Page>
  );
}

interface ToolbarProps {
  search: ActionsSearch;
  onChange: (search: ActionsSearch) => void;
}

function Toolbar({ search, onChange }: ToolbarProps) {
  const { q: _, ...others } = search;
  const [text, setText] = useTyped(search.q ?? "", (q) => onChange({ ...others, ...(q && { q }) }));
  return <SearchInput label={words.search} value={text} onChange={setText} />;
}

function Back() {
  return (
    <Link to="/project/$projectId/actions" params={{ projectId: useProjectId() }} className={LINK}>
      {words.title}
    </Link>
  );
}

function ListActions() {
  const projectId = useProjectId();
  return (
    <>
      <LinkButton
        look="quiet"
        icon={Trash2}
        to="/project/$projectId/actions"
        params={{ projectId }}
        search={{ deleted: true }}
      >
        {words.deletedTitle}
      </LinkButton>
      <CreateButton />
    </>
  );
}

function CreateButton() {
  const projectId = useProjectId();
  const canEdit = useCanEdit();
  return (
    <LinkButton
      look="primary"
      icon={Plus}
      to="/project/$projectId/actions/new"
      params={{ projectId }}
      disabled={!canEdit}
      title={canEdit ? undefined : words.viewerHint}
    >
      {words.newTitle}
    </LinkButton>
  );
}

function NoActions() {
  return (
    <Empty icon={MousePointerClick} title={words.emptyTitle}>
      <p>{words.emptyHint}</p>
      <CreateButton />
    </Empty>
  );
}
