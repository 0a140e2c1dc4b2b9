import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { meQuery, type Project, projectsQuery, useMe } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { ProofField, useProof } from "@/settings";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Card, Page } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { ZoneField } from "@/ui/ZoneField";
import { browserZone } from "@/ui/zonedTime";
import { words } from "@/words/projects";

const T = words.first;
// The end of the address that the first start of a server makes up.
const MADE_UP_END = "@fanion.local";

interface FirstProjectProps {
  project: Project;
  onDone: () => void;
}

/** Asks once for the project's name and time zone, and the owner's name, after the first start. */
export default function FirstProject({ project, onDone }: FirstProjectProps) {
  const me = useMe();
  const asksForEmail = me.email.endsWith(MADE_UP_END);
  const [name, setName] = useState("");
  const [timezone, setTimezone] = useState(browserZone());
  const [firstName, setFirstName] = useState("");
  const [email, setEmail] = useState("");
  const [given, setGiven] = useState("");
  const ownProof = useProof();
  const proof = asksForEmail && email.trim() !== "" ? ownProof : null;
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: async () => {
      const person = {
        ...(firstName.trim() && { first_name: firstName.trim() }),
        ...(email.trim() && { email: email.trim(), ...(proof && { [proof]: given }) }),
      };
      if (Object.keys(person).length > 0) {
        const changed = await dataOf(api.PATCH("/api/users/@me/", { body: person }));
        queries.setQueryData(meQuery.queryKey, changed);
      }
      return dataOf(
        api.PATCH("/api/projects/{project_id}/", {
          params: { path: { project_id: String(project.id) } },
          body: { name: name.trim(), timezone },
        }),
      );
    },
    onSuccess: (changed) => {
      queries.setQueryData(projectsQuery.queryKey, (before) =>
        before?.map((one) => (one.id === changed.id ? changed : one)),
      );
      onDone();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const fields = ["name", "timezone", "first_name", "email", ...(proof ? [proof] : [])];
  const isOfField = fields.some((field) => errorOf(save.error, field));
  return (
    <Page title={T.title} description={T.hint}>
      <Card className="w-full max-w-xl">
        <form onSubmit={submit} className="flex flex-col gap-4">
          <TextField
            label={T.project}
            required
            value={name}
            onChange={(event) => setName(event.target.value)}
            error={errorOf(save.error, "name")}
          />
          <ZoneField
            value={timezone}
            onChange={setTimezone}
            error={errorOf(save.error, "timezone")}
          />
          <TextField
            label={T.you}
            isOptional
            autoComplete="given-name"
            value={firstName}
            onChange={(event) => setFirstName(event.target.value)}
            error={errorOf(save.error, "first_name")}
          />
          {asksForEmail && (
            <TextField
              label={T.email}
              hint={T.emailHint}
              isOptional
              type="email"
              autoComplete="email"
              value={email}
              onChange={(event) => setEmail(event.target.value)}
              error={errorOf(save.error, "email")}
            />
          )}
          {proof && (
            <ProofField proof={proof} value={given} onChange={setGiven} error={save.error} />
          )}
          {save.error && !isOfField ? <ErrorNote error={save.error} /> : null}
          <div className="flex gap-2">
            <Button type="submit" look="primary" isBusy={save.isPending}>
              {T.save}
            </Button>
            <Button look="quiet" onClick={onDone}>
              {T.skip}
            </Button>
          </div>
        </form>
      </Card>
    </Page>
  );
}
