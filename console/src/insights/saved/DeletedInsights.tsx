import { useQuery } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { useMemo } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { Button } from "@/ui/Button";
import { Loaded } from "@/ui/States";
import { toast, toastError } from "@/ui/Toast";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/insightsSaved";
import { columnsOf } from "./columns";
import { nameOfInsight } from "./names";
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
        header: words.restore,
        width: 130,
        fixed: true,
        cell: (insight) => <RestoreButton insight={insight} />,
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

function RestoreButton({ insight }: { insight: Insight }) {
  const canEdit = useCanEdit();
  const change = useInsightChange(insight.id);
  const name = nameOfInsight(insight);
  const restore = () =>
    change.mutate(
      { deleted: false },
      { onSuccess: () => toast({ text: words.restored(name) }), onError: toastError },
    );
  return (
    <Button
      small
      icon={RotateCcw}
      aria-label={words.restoreOf(name)}
      disabled={!canEdit}
      isBusy={change.isPending}
      onClick={restore}
    >
      {words.restore}
    </Button>
  );
}
