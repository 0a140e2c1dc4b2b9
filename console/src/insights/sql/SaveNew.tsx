import { useNavigate } from "@tanstack/react-router";
import { Save } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { storedSql } from "@/insights/kinds/sql/query";
import type { Shown } from "@/insights/kinds/sql/shown";
import { type Details, DetailsDialog } from "@/insights/saved/DetailsDialog";
import { type NewInsight, useInsightCreation } from "@/insights/saved/queries";
import type { Given } from "@/lib/searchParams";
import { Button } from "@/ui/Button";
import { toast } from "@/ui/Toast";
import { words as insightWords } from "@/words/insightsSaved";
import { words } from "@/words/sql";
import type { SqlQuery } from "./answer";

export type SentQuery = NonNullable<NewInsight["query"]>;

export const sentOf = (query: SqlQuery, shown: Shown): SentQuery =>
  storedSql(query as unknown as Given, shown) as SentQuery;

const DERIVED_MAX = 80;

/** The default name of a query. */
export const derivedName = (text: string): string =>
  words.queryOf(text.replace(/\s+/g, " ").trim().slice(0, DERIVED_MAX));

const NONE: Details = { name: "", description: "", tags: [] };

/** Saves the query as an insight, and opens it. */
export function SaveNew({ query, shown }: { query: SqlQuery; shown: Shown }) {
  const projectId = useProjectId();
  const canEdit = useCanEdit();
  const navigate = useNavigate();
  const creation = useInsightCreation();
  const [isNaming, setNaming] = useState(false);
  const save = async ({ name, description, tags }: Details) => {
    const made = await creation.mutateAsync({
      name: name === "" ? null : name,
      derived_name: derivedName(query.query),
      description,
      tags,
      query: sentOf(query, shown),
      saved: true,
    });
    toast({ text: words.saved });
    const params = { projectId, insightId: String(made.id) };
    await navigate({ to: "/project/$projectId/insights/$insightId", params });
  };
  return (
    <>
      <Button
        icon={Save}
        disabled={!canEdit || query.query.trim() === ""}
        title={canEdit ? undefined : insightWords.viewerHint}
        onClick={() => setNaming(true)}
      >
        {words.save}
      </Button>
      {isNaming && (
        <DetailsDialog
          title={words.saveTitle}
          details={NONE}
          onClose={() => setNaming(false)}
          onSave={save}
        />
      )}
    </>
  );
}
