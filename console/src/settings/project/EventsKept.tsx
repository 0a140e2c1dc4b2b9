import { useQuery } from "@tanstack/react-query";
import { useProjectChange } from "@/app/projectChange";
import { type Project, useIsAdmin } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { formatZoned } from "@/words/format";
import { words } from "@/words/settings";
import { KeptDays } from "../KeptDays";

const T = words.project.events;

/** How long the project keeps its events. */
export function EventsKept({ project }: { project: Project }) {
  const isAdmin = useIsAdmin();
  const save = useProjectChange(project, words.saved);
  return (
    <Card description={T.hint}>
      <KeptDays
        label={T.label}
        kept={project.events_kept_days}
        field="events_kept_days"
        disabled={!isAdmin}
        save={save}
        asking={{
          title: T.title,
          submit: T.submit,
          about: (days) => <Preview project={project} days={days} />,
        }}
        onSave={(days, onSuccess) => save.mutate({ events_kept_days: days }, { onSuccess })}
      />
    </Card>
  );
}

/** What a shorter time deletes. */
function Preview({ project, days }: { project: Project; days: number }) {
  const old = useQuery({
    queryKey: ["old events", project.id, days],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/old_events/", {
          params: { path: { project_id: String(project.id) }, query: { events_kept_days: days } },
          signal,
        }),
      ),
    staleTime: 0,
  });
  return (
    <Loaded query={old} rows={1}>
      {({ before, events, stored }) => (
        <p>{T.about(events, stored, formatZoned(new Date(before), "UTC", "date"))}</p>
      )}
    </Loaded>
  );
}
