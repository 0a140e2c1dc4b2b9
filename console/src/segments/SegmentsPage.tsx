import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Plus, Shapes, Trash2 } from "lucide-react";
import { useCanEdit, useProjectId } from "@/app/session";
import { useTyped } from "@/lib/hooks";
import { LinkButton } from "@/ui/Button";
import { SearchInput } from "@/ui/Field";
import { LINK, Page } from "@/ui/Page";
import { Empty, Failed, Skeleton } from "@/ui/States";
import { DataTable } from "@/ui/table";
import { words } from "@/words/segments";
import { COLUMNS } from "./columns";
import { type Segment, segmentsQuery } from "./queries";
import type { SegmentsSearch } from "./search";

const route = getRouteApi("/signed-in/project/$projectId/segments");

export default function SegmentsPage() {
  const projectId = useProjectId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const segments = useQuery(segmentsQuery(projectId, search));
  const rows = segments.data ?? [];
  const isEmpty = rows.length === 0 && search.q === undefined && !search.deleted;
  const change = (next: SegmentsSearch) => void navigate({ search: next, replace: true });
  return (
    <Page
      {...(search.deleted
        ? { title: words.deletedTitle, back: <Back /> }
        : { title: words.title, description: words.description, actions: <ListActions /> })}
    >
      {segments.isError && (
        <Failed error={segments.error} onRetry={() => void segments.refetch()} />
      )}
      {segments.isPending && <Skeleton rows={6} />}
      {segments.isSuccess && isEmpty && <NoSegments />}
      {segments.isSuccess && !isEmpty && (
        <DataTable<Segment>
          name="segments"
          label={words.title}
          columns={COLUMNS}
          rows={rows}
          rowId={({ id }) => String(id)}
          rowLabel={({ name }) => name}
          hrefOf={({ id }) => `/project/${projectId}/segments/${id}`}
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
  search: SegmentsSearch;
  onChange: (search: SegmentsSearch) => void;
}

function Toolbar({ search, onChange }: ToolbarProps) {
  const { q: _, ...others } = search;
  const [text, setText] = useTyped(search.q ?? "", (q) => onChange({ ...others, ...(q && { q }) }));
  return <SearchInput label={words.search} value={text} onChange={setText} />;
}

function Back() {
  return (
    <Link to="/project/$projectId/segments" params={{ projectId: useProjectId() }} className={LINK}>
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
        to="/project/$projectId/segments"
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
      to="/project/$projectId/segments/new"
      params={{ projectId }}
      disabled={!canEdit}
      title={canEdit ? undefined : words.viewerHint}
    >
      {words.newTitle}
    </LinkButton>
  );
}

function NoSegments() {
  return (
    <Empty icon={Shapes} title={words.emptyTitle}>
      <p>{words.emptyHint}</p>
      <CreateButton />
    </Empty>
  );
}
