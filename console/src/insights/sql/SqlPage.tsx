import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { isText, readStored, writeStored } from "@/lib/storage";
import { Page } from "@/ui/Page";
import { words } from "@/words/sql";
import type { SqlQuery } from "./answer";
import type { SqlSearch } from "./search";
import { typedOf, type Values, valuesOf } from "./variables";
import { Workbench } from "./Workbench";

const route = getRouteApi("/signed-in/project/$projectId/sql");
// A longer query is not in the address, since servers refuse long ones.
const ADDRESS_MAX = 6_000;

/** Queries in SQL: what was run last is in the address, and what was typed is kept in the browser. */
export default function SqlPage() {
  const projectId = useProjectId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const draft = `sql.draft.${projectId}`;
  const [first] = useState(() => ({
    text: search.query ?? readStored(draft, words.example, isText),
    values: valuesIn(search),
    isAsked: search.query !== undefined,
  }));
  const onRun = (query: SqlQuery) =>
    void navigate({ search: searchOf(query), replace: true, resetScroll: false });
  return (
    <Page title={words.title} description={words.description}>
      <Workbench
        key={projectId}
        first={first}
        onRun={onRun}
        onChange={(text) => writeStored(draft, text)}
      />
    </Page>
  );
}

const valuesIn = ({ variables = {} }: SqlSearch): Values =>
  Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, typedOf(value)]));

function searchOf(query: SqlQuery): SqlSearch {
  if (query.query.length > ADDRESS_MAX) return {};
  const values = Object.entries(valuesOf(query)).map(([name, { text, isNumber }]) => [
    name,
    isNumber ? Number(text) : text,
  ]);
  return {
    query: query.query,
    ...(values.length > 0 && { variables: Object.fromEntries(values) }),
  };
}
