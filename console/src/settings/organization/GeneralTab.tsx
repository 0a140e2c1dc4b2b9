import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { LEVELS, meQuery, organizationQuery } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import type { components } from "@/lib/schema";
import { Button } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { Card } from "@/ui/Page";
import { SelectField } from "@/ui/Select";
import { ErrorNote, Loaded } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words } from "@/words/settings";
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

function useOrganizationChange(onDone?: () => void) {
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
      onDone?.();
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

const FOREVER = "";
const CHOICES: readonly number[] = [90, 365, 730, 1825];

/** How long activity is kept. A shorter time deletes entries, so it must be confirmed. */
function RetentionCard({ organization }: { organization: Organization }) {
  const isAdmin = useOwnLevel() >= LEVELS.admin;
  const kept = organization.activity_kept_days ?? null;
  const [asked, setAsked] = useState<number | null>(null);
  const save = useOrganizationChange(() => setAsked(null));
  const choices = kept === null || CHOICES.includes(kept) ? CHOICES : [kept, ...CHOICES];
  const choose = (value: string) => {
    const days = value === FOREVER ? null : Number(value);
    if (days === null || (kept !== null && days > kept)) save.mutate({ activity_kept_days: days });
    else if (days !== kept) setAsked(days);
  };
  return (
    <Card title={T.activity} description={T.activityHint}>
      <SelectField
        label={T.kept}
        disabled={!isAdmin || save.isPending}
        value={kept === null ? FOREVER : String(kept)}
        options={[
          { value: FOREVER, label: T.forever },
          ...choices.map((days) => ({ value: String(days), label: T.days(days) })),
        ]}
        onChange={choose}
        error={asked === null ? errorOf(save.error, "activity_kept_days") : undefined}
      />
      <FormDialog
        isOpen={asked !== null}
        isDanger
        onClose={() => setAsked(null)}
        title={T.shortenTitle}
        description={T.shortenHint(T.days(asked ?? 0))}
        submit={T.shorten}
        onSubmit={() => save.mutate({ activity_kept_days: asked })}
        isBusy={save.isPending}
        error={save.error}
      >
        {null}
      </FormDialog>
    </Card>
  );
}
