import { type FormEvent, useState } from "react";
import { useProjectChange } from "@/app/projectChange";
import { type Project, useIsAdmin } from "@/app/session";
import { insightConditions, isComplete, PropertyFilterList, readFilters } from "@/filters";
import { placeOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { words } from "@/words/settings";

const T = words.testAccounts;

export function TestAccountsTab({ project }: { project: Project }) {
  const isAdmin = useIsAdmin();
  const [filters, setFilters] = useState(() => readFilters(project.test_account_filters, "event"));
  const [wasSent, setWasSent] = useState(false);
  const save = useProjectChange(project, T.saved);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setWasSent(true);
    if (filters.every((one) => isComplete(one))) {
      save.mutate({ test_account_filters: insightConditions(filters) });
    }
  };
  const place = placeOf(save.error, "test_account_filters");
  return (
    <Card
      className="max-w-3xl"
      title={T.title}
      description={isAdmin ? T.intro : `${T.intro} ${words.onlyAdmins}`}
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        {filters.length === 0 && <p className="text-ink-2">{T.empty}</p>}
        <PropertyFilterList
          label={T.conditions}
          filters={filters}
          onChange={setFilters}
          use="query"
          allowed={["person", "event", "cohort"]}
          showProblems={wasSent}
          disabled={!isAdmin}
        />
        {save.error ? (
          <div className="flex flex-col gap-1">
            {place !== undefined && <p className="font-semibold">{T.wrong(place + 1)}</p>}
            <ErrorNote error={save.error} />
          </div>
        ) : null}
        <div>
          <Button type="submit" look="primary" isBusy={save.isPending} disabled={!isAdmin}>
            {words.save}
          </Button>
        </div>
      </form>
    </Card>
  );
}
