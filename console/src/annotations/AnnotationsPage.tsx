import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { MapPin, Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { useCanEdit, useProject, useProjectId } from "@/app/session";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { SearchInput } from "@/ui/Field";
import { LINK, Page } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { RestoreButton } from "@/ui/RestoreButton";
import { Empty, Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/annotations";
import { authorOf } from "@/words/insightsSaved";
import { words as common } from "@/words/ui";
import { EditAnnotationDialog, NewAnnotationDialog } from "./AnnotationDialog";
import { type Annotation, annotationsQuery, useAnnotationChange } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/annotations");
const HEADERS = words.columns;
const ANYWHERE = {};

export default function AnnotationsPage() {
  const { deleted = false } = route.useSearch();
  const params = { projectId: useProjectId() };
  const annotations = useQuery(annotationsQuery(params.projectId, { deleted }));
  return (
    <Page
      title={deleted ? words.deletedTitle : words.title}
      description={words.hint}
      actions={
        <>
          <Link
            to="/project/$projectId/annotations"
            params={params}
            search={deleted ? {} : { deleted: true }}
            className={LINK}
          >
            {deleted ? words.toAll : words.toDeleted}
          </Link>
          <AddButton />
        </>
      }
    >
      <Loaded query={annotations} rows={6}>
        {(found) =>
          found.length === 0 && !deleted ? (
            <Empty icon={MapPin} title={words.none}>
              <p>{words.noneHint}</p>
            </Empty>
          ) : (
            <AnnotationTable annotations={found} isDeleted={deleted} />
          )
        }
      </Loaded>
    </Page>
  );
}

function useZone(): string {
  return useProject()?.timezone ?? "UTC";
}

function AddButton() {
  const canEdit = useCanEdit();
  const zone = useZone();
  const [at, setAt] = useState<Date | null>(null);
  return (
    <>
      <Button
        look="primary"
        icon={Plus}
        disabled={!canEdit}
        title={canEdit ? undefined : words.viewerHint}
        onClick={() => setAt(new Date())}
      >
        {words.add}
      </Button>
      {at && (
        <NewAnnotationDialog place={ANYWHERE} at={at} zone={zone} onClose={() => setAt(null)} />
      )}
    </>
  );
}

interface TableProps {
  annotations: readonly Annotation[];
  isDeleted: boolean;
}

function AnnotationTable({ annotations, isDeleted }: TableProps) {
  const { q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const canEdit = useCanEdit();
  const zone = useZone();
  const [open, setOpen] = useState<Annotation | null>(null);
  const columns = useMemo(
    () => [
      contentColumn(canEdit && !isDeleted ? setOpen : undefined),
      ...COLUMNS,
      ...(isDeleted ? [RESTORE] : []),
    ],
    [canEdit, isDeleted],
  );
  const rows = useMemo(() => {
    const sought = q.trim().toLowerCase();
    return annotations.filter(({ content }) => content.toLowerCase().includes(sought));
  }, [annotations, q]);
  return (
    <>
      <DataTable<Annotation>
        name={isDeleted ? "annotations.deleted" : "annotations"}
        label={isDeleted ? words.deletedTitle : words.title}
        columns={columns}
        rows={rows}
        rowId={({ id }) => String(id)}
        rowLabel={({ content }) => content}
        csv={{ fileName: words.csvName, all: () => rows }}
        toolbar={
          <SearchInput
            label={words.search}
            value={q}
            onChange={(text) =>
              void navigate({
                search: ({ q: _, ...others }) => (text === "" ? others : { ...others, q: text }),
                replace: true,
              })
            }
            className="w-64 max-w-full"
          />
        }
        empty={isDeleted ? words.noDeleted : words.noMatch}
      />
      {open && <EditAnnotationDialog annotation={open} zone={zone} onClose={() => setOpen(null)} />}
    </>
  );
}

const contentColumn = (
  open: ((annotation: Annotation) => void) | undefined,
): Column<Annotation> => ({
  id: "content",
  header: HEADERS.content,
  grow: true,
  wrap: true,
  fixed: true,
  sortable: true,
  cell: (annotation) =>
    open === undefined ? (
      <Visible text={annotation.content} />
    ) : (
      <button
        type="button"
        className="max-w-full rounded text-left hover:underline"
        onClick={() => open(annotation)}
      >
        <Visible text={annotation.content} />
      </button>
    ),
  text: ({ content }) => content,
});

const COLUMNS: readonly Column<Annotation>[] = [
  {
    id: "moment",
    header: HEADERS.moment,
    width: 150,
    sortable: true,
    cell: ({ date_marker }) => <Time at={date_marker} />,
    text: ({ date_marker }) => new Date(date_marker),
  },
  {
    id: "scope",
    header: HEADERS.scope,
    width: 260,
    sortable: true,
    cell: (annotation) => <Visible text={scopeName(annotation)} />,
    text: scopeName,
  },
  {
    id: "author",
    header: HEADERS.author,
    width: 180,
    sortable: true,
    cell: (annotation) =>
      annotation.creation_type === "GIT" ? (
        <Badge>{words.byDeployment}</Badge>
      ) : (
        <Visible text={authorName(annotation)} />
      ),
    text: authorName,
  },
];

const RESTORE: Column<Annotation> = {
  id: "restore",
  header: common.restore,
  width: 130,
  fixed: true,
  cell: (annotation) => <Restore annotation={annotation} />,
  text: () => null,
};

function Restore({ annotation }: { annotation: Annotation }) {
  const change = useAnnotationChange(annotation.id);
  return (
    <RestoreButton
      name={annotation.content}
      canRestore={useCanEdit()}
      restore={() => change.mutateAsync({ deleted: false })}
      restored={words.restored}
    />
  );
}

function authorName(annotation: Annotation): string {
  return annotation.creation_type === "GIT" ? words.byDeployment : authorOf(annotation);
}

function scopeName(annotation: Annotation): string {
  const { scope } = annotation;
  if (scope === "dashboard_item")
    return words.onInsight(
      annotation.insight_name || annotation.insight_derived_name || words.untitled,
    );
  if (scope === "dashboard") return words.onDashboard(annotation.dashboard_name || words.untitled);
  return words.scopes[scope];
}
