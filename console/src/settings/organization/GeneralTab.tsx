import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { LEVELS, meQuery, organizationQuery } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import type { components } from "@/lib/schema";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Card } from "@/ui/Page";
import { ErrorNote, Loaded } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words } from "@/words/settings";
import { KeptDays } from "../KeptDays";
import { useOwnLevel } from "./levels";

type Organization = components["schemas"]["OrganizationSummary"];
type Changes = components["schemas"]["OrganizationChanges"];

const T = words.organization;

export function GeneralTab() {
  const organization = useQuery(organizationQuery);
  return (
    <Loaded query={organization} rows={3}>
      {(found) => (
        <div className="flex max-w-xl flex-col gap-4">
          <NameCard organization={found} />
          <RetentionCard organization={found} />
        </div>
      )}
    </Loaded>
  );
}

function useOrganizationChange() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Changes) =>
      dataOf(
        api.PATCH("/api/organizations/{organization}/", {
          params: { path: { organization: "@current" } },
          body,
        }),
      ),
    onSuccess: (changed) => {
      queries.setQueryData(organizationQuery.queryKey, changed);
      void queries.invalidateQueries({ queryKey: meQuery.queryKey });
      toast({ text: words.saved });
    },
  });
}

function NameCard({ organization }: { organization: Organization }) {
  const isAdmin = useOwnLevel() >= LEVELS.admin;
  const [name, setName] = useState(organization.name);
  const save = useOrganizationChange();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ name });
  };
  const ofField = errorOf(save.error, "name");
  return (
    <Card description={isAdmin ? undefined : words.onlyAdmins}>
      <form onSubmit={submit} className="flex flex-col items-start gap-4">
        <TextField
          className="w-full"
          label={T.name}
          required
          disabled={!isAdmin}
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={ofField}
        />
        {save.error && !ofField ? <ErrorNote error={save.error} /> : null}
        <Button
          type="submit"
          look="primary"
          isBusy={save.isPending}
          disabled={!isAdmin || name === organization.name}
        >
          {words.save}
        </Button>
      </form>
    </Card>
  );
}

/** How long activity is kept. */
function RetentionCard({ organization }: { organization: Organization }) {
  const isAdmin = useOwnLevel() >= LEVELS.admin;
  const save = useOrganizationChange();
  return (
    <Card title={T.activity} description={T.activityHint}>
      <KeptDays
        label={T.kept}
        kept={organization.activity_kept_days ?? null}
        field="activity_kept_days"
        disabled={!isAdmin}
        save={save}
        asking={{
          title: T.shortenTitle,
          submit: T.shorten,
          about: (days) => T.shortenHint(words.kept.days(days)),
        }}
        onSave={(days, onSuccess) => save.mutate({ activity_kept_days: days }, { onSuccess })}
      />
    </Card>
  );
}
