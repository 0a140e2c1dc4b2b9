import { type FormEvent, useState } from "react";
import { useProjectChange } from "@/app/projectChange";
import { type Project, useIsAdmin } from "@/app/session";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { Copyable } from "@/ui/Copy";
import { TextField } from "@/ui/Field";
import { Card, Facts } from "@/ui/Page";
import { SelectField } from "@/ui/Select";
import { ErrorNote } from "@/ui/States";
import { ZoneField } from "@/ui/ZoneField";
import { formatDate } from "@/words/format";
import { words } from "@/words/settings";
import { EventsKept } from "./EventsKept";
import { HomeCard } from "./HomeCard";

const T = words.project;
// The API counts Sunday as 0 and Monday as 1.
const WEEK_STARTS = [
  { value: "0", label: T.days[0] },
  { value: "1", label: T.days[1] },
] as const;
const dayOf = (day: number): "0" | "1" => (day === 1 ? "1" : "0");

export function GeneralTab({ project }: { project: Project }) {
  const isAdmin = useIsAdmin();
  const [name, setName] = useState(project.name);
  const [timezone, setTimezone] = useState(project.timezone);
  const [weekStart, setWeekStart] = useState(dayOf(project.week_start_day));
  const save = useProjectChange(project, words.saved);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ name, timezone, week_start_day: weekStart === "1" ? 1 : 0 });
  };
  const isSame =
    name === project.name &&
    timezone === project.timezone &&
    weekStart === dayOf(project.week_start_day);
  const ofField = errorOf(save.error, "name") ?? errorOf(save.error, "timezone");
  return (
    <div className="flex max-w-xl flex-col gap-4">
      <Card description={isAdmin ? undefined : words.onlyAdmins}>
        <form onSubmit={submit} className="flex flex-col gap-4">
          <TextField
            label={T.name}
            required
            disabled={!isAdmin}
            value={name}
            onChange={(event) => setName(event.target.value)}
            error={errorOf(save.error, "name")}
          />
          <ZoneField
            disabled={!isAdmin}
            value={timezone}
            onChange={setTimezone}
            error={errorOf(save.error, "timezone")}
          />
          <SelectField
            label={T.weekStart}
            hint={T.weekStartHint}
            disabled={!isAdmin}
            value={weekStart}
            options={WEEK_STARTS}
            onChange={setWeekStart}
          />
          {save.error && !ofField ? <ErrorNote error={save.error} /> : null}
          <div>
            <Button
              type="submit"
              look="primary"
              isBusy={save.isPending}
              disabled={!isAdmin || isSame}
            >
              {words.save}
            </Button>
          </div>
        </form>
      </Card>
      <HomeCard project={project} />
      <EventsKept project={project} />
      <Card>
        <Facts
          facts={[
            [T.id, <Copyable key="id" text={String(project.id)} what={T.id} />],
            [T.createdAt, formatDate(project.created_at)],
          ]}
        />
      </Card>
    </div>
  );
}
