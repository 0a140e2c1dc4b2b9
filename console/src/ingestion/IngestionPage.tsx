import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { useProjectId } from "@/app/session";
import { Page } from "@/ui/Page";
import { words } from "@/words/ingestion";
import { DeadLetters } from "./DeadLetters";
import { Find } from "./Find";
import { Ledger } from "./Ledger";
import { deadLettersQuery } from "./queries";
import type { IngestionSearch } from "./search";

export default function IngestionPage() {
  const search: IngestionSearch = useSearch({ from: "/signed-in/project/$projectId/ingestion" });
  const navigate = useNavigate({ from: "/project/$projectId/ingestion" });
  const change = useCallback(
    (changes: { [Name in keyof IngestionSearch]?: IngestionSearch[Name] | undefined }) =>
      void navigate({
        search: (old) =>
          Object.fromEntries(
            Object.entries({ ...old, ...changes }).filter(([, value]) => value !== undefined),
          ),
        resetScroll: false,
      }),
    [navigate],
  );
  const letters = useQuery(deadLettersQuery(useProjectId()));
  return (
    <Page title={words.title} description={words.description}>
      <Find
        text={search.find ?? ""}
        onFind={(find) => change({ find: find || undefined })}
        onLetter={(letter) => change({ letter })}
      />
      <DeadLetters openId={search.letter} onOpen={(letter) => change({ letter })} />
      {/* Waits for the list above it, to avoid a layout shift. */}
      <div className={letters.isPending ? "hidden" : "contents"}>
        <Ledger search={search} onChange={({ from, to }) => change({ from, to })} />
      </div>
    </Page>
  );
}
