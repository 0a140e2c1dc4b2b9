import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { RestoreButton } from "@/ui/RestoreButton";
import { Loaded } from "@/ui/States";
import { type Column, DataTable } from "@/ui/table";
import { nameOfInsight, words } from "@/words/insightsSaved";
import { words as common } from "@/words/ui";
import { columnsOf } from "./columns";
import { type Insight, insightsQuery, useInsightChange } from "./queries";

/** Deleted insights, each with a button to restore it. */
export function DeletedInsights() {
  const insights = useQuery(insightsQuery(useProjectId(), true));
  const columns = useMemo((): Column<Insight>[] => {
    const shown = columnsOf({}).filter(({ id }) => id !== "seen" && id !== "dashboards");
    return [
      ...shown,
      {
        id: "restore",
        header: common.restore,
        width: 130,
        fixed: true,
        cell: (insight) => <Restore insight={insight} />,
        text: () => null,
      },
    ];
  }, []);
  return (
    <Loaded query={insights} rows={6}>
      {(found) => (
        <DataTable<Insight>
          name="insights.deleted"
          label={words.deletedTitle}
          columns={columns}
          rows={found}
          rowId={({ id }) => String(id)}
          rowLabel={nameOfInsight}
          empty={words.noDeleted}
        />
      )}
    </Loaded>
  );
}

function Restore({ insight }: { insight: Insight }) {
  const change = useInsightChange(insight.id);
  const name = nameOfInsight(insight);
  return (
    <RestoreButton
      name={name}
      canRestore={useCanEdit()}
      restore={() => change.mutateAsync({ deleted: false })}
      restored={words.restored(name)}
    />
  );
}
