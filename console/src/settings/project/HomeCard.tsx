import { useQuery } from "@tanstack/react-query";
import { useProjectChange } from "@/app/projectChange";
import { type Project, useCanEdit, useProjectId } from "@/app/session";
import { dashboardsQuery, isGenerated } from "@/insights";
import { Card } from "@/ui/Page";
import { SelectField } from "@/ui/Select";
import { ErrorNote } from "@/ui/States";
import { words } from "@/words/settings";

const T = words.project.home;
const OVERVIEW = "overview";

/** Chooses what Home shows. Members may, too. */
export function HomeCard({ project }: { project: Project }) {
  const canEdit = useCanEdit();
  const listed = useQuery(dashboardsQuery(useProjectId())).data;
  const save = useProjectChange(project, T.saved);
  const chosen = listed?.find(({ id }) => id === project.primary_dashboard);
  const offered = (listed ?? []).filter((one) => !isGenerated(one) || one === chosen);
  return (
    <Card>
      <SelectField
        label={T.label}
        hint={project.primary_dashboard !== null && listed && !chosen ? T.gone : T.hint}
        disabled={!canEdit || listed === undefined || save.isPending}
        value={chosen === undefined ? OVERVIEW : String(chosen.id)}
        options={[
          { value: OVERVIEW, label: T.overview },
          ...offered.map(({ id, name }) => ({ value: String(id), label: name || T.untitled })),
        ]}
        onChange={(value) =>
          save.mutate({ primary_dashboard: value === OVERVIEW ? null : Number(value) })
        }
      />
      {save.error && <ErrorNote error={save.error} />}
    </Card>
  );
}
