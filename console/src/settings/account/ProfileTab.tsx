import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { meQuery, useMe } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Card } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words } from "@/words/settings";
import { ProofField, useProof } from "./ProofField";

export function ProfileTab() {
  const me = useMe();
  const queries = useQueryClient();
  const [firstName, setFirstName] = useState(me.first_name);
  const [email, setEmail] = useState(me.email);
  const [given, setGiven] = useState("");
  const ownProof = useProof();
  const proof = email === me.email ? null : ownProof;
  const save = useMutation({
    mutationFn: () =>
      dataOf(
        api.PATCH("/api/users/@me/", {
          body: {
            first_name: firstName,
            ...(email === me.email ? {} : { email }),
            ...(proof ? { [proof]: given } : {}),
          },
        }),
      ),
    onSuccess: (changed) => {
      queries.setQueryData(meQuery.queryKey, changed);
      setGiven("");
      toast({ text: words.saved });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const ofField =
    errorOf(save.error, "first_name") ??
    errorOf(save.error, "email") ??
    (proof && errorOf(save.error, proof));
  return (
    <Card className="max-w-xl">
      <form onSubmit={submit} className="flex flex-col items-start gap-4">
        <TextField
          className="w-full"
          label={words.account.firstName}
          autoComplete="given-name"
          required
          value={firstName}
          onChange={(event) => setFirstName(event.target.value)}
          error={errorOf(save.error, "first_name")}
        />
        <TextField
          className="w-full"
          label={words.account.email}
          hint={words.account.emailHint}
          type="email"
          autoComplete="email"
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          error={errorOf(save.error, "email")}
        />
        {proof && <ProofField proof={proof} value={given} onChange={setGiven} error={save.error} />}
        {save.error && !ofField ? <ErrorNote error={save.error} /> : null}
        <Button
          type="submit"
          look="primary"
          isBusy={save.isPending}
          disabled={firstName === me.first_name && email === me.email}
        >
          {words.save}
        </Button>
      </form>
    </Card>
  );
}
