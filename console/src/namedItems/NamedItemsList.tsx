import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type LucideIcon, Plus, Trash2 } from "lucide-react";
import { useCanEdit, useProjectId } from "@/app/session";
import { useTyped } from "@/lib/hooks";
import { LinkButton } from "@/ui/Button";
import { SearchInput } from "@/ui/Field";
import { LINK, Page } from "@/ui/Page";
import { Empty, Failed, Skeleton } from "@/ui/States";
import { type Column, DataTable } from "@/ui/table";
import type { NamedItemsSearch } from "./search";

interface Words {
  title: string;
  description: string;
  newTitle: string;
  deletedTitle: string;
  search: string;
  csvName: string;
  emptyTitle: string;
  emptyHint: string;
  noMatch: string;
  noDeleted: string;
  viewerHint: string;
}

interface Item {
  id: number;
  name: string;
}

/** The items of one kind, which is the last part of their address. */
interface Props<T extends Item> {
  kind: "actions" | "segments";
  icon: LucideIcon;
  words: Words;
  columns: readonly Column<T>[];
  items: UseQueryResult<T[]>;
  search: NamedItemsSearch;
  onSearch: (search: NamedItemsSearch) => void;
}

/** The list of the items of a project, and that of the deleted ones. */
export function NamedItemsList<T extends Item>(props: Props<T>) {
  const { kind, words, items, search, onSearch } = props;
  const projectId = useProjectId();
  const rows = items.data ?? [];
  const isEmpty = rows.length === 0 && search.q === undefined && !search.deleted;
  const list = { kind, words };
  return (
    <Page
      {...(search.deleted
        ? { title: words.deletedTitle, back: <Back {...list} /> }
        : {
            title: words.title,
            description: words.description,
            actions: <ListButtons {...list} />,
          })}
    >
      {items.isError && <Failed error={items.error} onRetry={() => void items.refetch()} />}
      {items.isPending && <Skeleton rows={6} />}
      {items.isSuccess && isEmpty && (
        <Empty icon={props.icon} title={words.emptyTitle}>
          <p>{words.emptyHint}</p>
          <NewButton {...list} />
        </Empty>
      )}
      {items.isSuccess && !isEmpty && (
        <DataTable<T>
          name={kind}
          label={words.title}
          columns={props.columns}
          rows={rows}
          rowId={({ id }) => String(id)}
          rowLabel={({ name }) => name}
          hrefOf={({ id }) => `/project/${projectId}/${kind}/${id}`}
          total={rows.length}
          csv={{ fileName: words.csvName, all: () => Promise.resolve(rows) }}
          toolbar={<Toolbar label={words.search} search={search} onChange={onSearch} />}
          empty={search.deleted && search.q === undefined ? words.noDeleted : words.noMatch}
        />
      )}
    </Page>
  );
}

interface ToolbarProps {
  label: string;
  search: NamedItemsSearch;
  onChange: (search: NamedItemsSearch) => void;
}

function Toolbar({ label, search, onChange }: ToolbarProps) {
  const { q: _, ...others } = search;
  const [text, setText] = useTyped(search.q ?? "", (q) => onChange({ ...others, ...(q && { q }) }));
  return <SearchInput label={label} value={text} onChange={setText} />;
}

type ListProps = Pick<Props<Item>, "kind" | "words">;

function Back({ kind, words }: ListProps) {
  const projectId = useProjectId();
  return (
    <Link to={`/project/$projectId/${kind}`} params={{ projectId }} className={LINK}>
      {words.title}
    </Link>
  );
}

function ListButtons({ kind, words }: ListProps) {
  const projectId = useProjectId();
  return (
    <>
      <LinkButton
        look="quiet"
        icon={Trash2}
        to={`/project/$projectId/${kind}`}
        params={{ projectId }}
        search={{ deleted: true }}
      >
        {words.deletedTitle}
      </LinkButton>
      <NewButton kind={kind} words={words} />
    </>
  );
}

function NewButton({ kind, words }: ListProps) {
  const projectId = useProjectId();
  const canEdit = useCanEdit();
  return (
    <LinkButton
      look="primary"
      icon={Plus}
      to={`/project/$projectId/${kind}/new`}
      params={{ projectId }}
      disabled={!canEdit}
      title={canEdit ? undefined : words.viewerHint}
    >
      {words.newTitle}
    </LinkButton>
  );
}
