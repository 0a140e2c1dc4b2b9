import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { insightsQuery, nameOfInsight, useInsightChange } from "@/insights";
import { Combobox } from "@/ui/combobox";
import { FormDialog } from "@/ui/Dialog";
import { LINK } from "@/ui/Page";
import { toast } from "@/ui/Toast";
import { words } from "@/words/dashboards";
import type { Dashboard } from "./queries";

/** Adds a saved insight to the dashboard. */
export function AddInsight({ dashboard, onClose }: { dashboard: Dashboard; onClose: () => void }) {
  const projectId = useProjectId();
  const insights = useQuery(insightsQuery(projectId, false)).data ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const change = useInsightChange(Number(chosen));
  const offered = insights.filter(
    ({ dashboards, is_sample }) => !dashboards.includes(dashboard.id) && !is_sample,
  );
  const insight = offered.find(({ id }) => String(id) === chosen);
  const nameOf = (id: string) => {
    const found = offered.find((one) => String(one.id) === id);
    return found === undefined ? undefined : nameOfInsight(found);
  };
  const submit = () => {
    if (insight === undefined) return;
    change.mutate(
      { dashboards: [...insight.dashboards, dashboard.id] },
      {
        onSuccess: () => {
          toast({ text: words.added(nameOfInsight(insight)) });
          onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={words.addInsight}
      description={words.addInsightHint}
      submit={words.add}
      canSubmit={insight !== undefined}
      isBusy={change.isPending}
      error={change.error}
      onSubmit={submit}
    >
      <Combobox
        label={words.insight}
        options={offered.map((one) => ({ value: String(one.id), label: nameOfInsight(one) }))}
        value={chosen}
        labelOf={nameOf}
        onChange={setChosen}
      />
      <Link to="/project/$projectId/insights/new" params={{ projectId }} className={LINK}>
        {words.askNew}
      </Link>
    </FormDialog>
  );
}
