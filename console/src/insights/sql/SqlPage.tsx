import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useProjectId } from "@/app/session";
import { DISPLAYS, type Shown } from "@/insights/kinds/sql/shown";
import { choiceOf, present } from "@/lib/searchParams";
import { isText, readStored, writeStored } from "@/lib/storage";
import { Page } from "@/ui/Page";
import { words } from "@/words/sql";
import { SaveNew } from "./SaveNew";
import type { SqlSearch } from "./search";
import { type Draft, draftOf, useWork } from "./useWork";
import { typedOf } from "./variables";
import { Workbench } from "./Workbench";

const route = getRouteApi("/signed-in/project/$projectId/sql");
// A longer query is not in the address, since servers refuse long ones.
const ADDRESS_MAX = 6_000;

export default function SqlPage() {
  const projectId = useProjectId();
  return <Screen key={projectId} projectId={projectId} />;
}

/** Queries in SQL: what was run last is in the address, and what was typed is kept in the browser. */
function Screen({ projectId }: { projectId: string }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const kept = `sql.draft.${projectId}`;
  const [isAsked] = useState(search.query !== undefined);
  const [first] = useState(() => readDraft(search, readStored(kept, words.example, isText)));
  const work = useWork(first);
  const { draft } = work;
  const { text, shown } = draft;
  useEffect(() => writeStored(kept, text), [kept, text]);
  const write = () => void navigate({ search: searchOf(draft), replace: true, resetScroll: false });
  const isWritten = search.query === text;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the display of what was run changes.
  useEffect(() => {
    if (isWritten) write();
  }, [shown]);
  return (
    <Page
      title={words.title}
      description={words.description}
      actions={<SaveNew query={work.query} shown={shown} />}
    >
      <Workbench work={work} isAsked={isAsked} onRun={write} />
    </Page>
  );
}

function readDraft(search: SqlSearch, otherwise: string): Draft {
  const { query = otherwise, variables = {}, display, x, y } = search;
  const values = Object.entries(variables).map(([name, value]) => [name, typedOf(value)]);
  const shown = present<Shown>({ display: choiceOf(DISPLAYS, display) ?? "table", x, y });
  return draftOf(query, Object.fromEntries(values), shown);
}

function searchOf({ text, values, shown }: Draft): SqlSearch {
  if (text.length > ADDRESS_MAX) return {};
  const sent = Object.entries(values).map(([name, typed]) => [
    name,
    typed.isNumber ? Number(typed.text) || 0 : typed.text,
  ]);
  return {
    query: text,
    ...(sent.length > 0 && { variables: Object.fromEntries(sent) }),
    ...(shown.display !== "table" && shown),
  };
}
