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

export function PasswordTab() {
  const me = useMe();
  const queries = useQueryClient();
  const proof = useProof();
  const [given, setGiven] = useState("");
  const [password, setPassword] = useState("");
  const save = useMutation({
    mutationFn: () =>
      dataOf(
        api.PATCH("/api/users/@me/", {
          body: { password, ...(proof ? { [proof]: given } : {}) },
        }),
      ),
    onSuccess: () => {
      setGiven("");
      setPassword("");
      void queries.invalidateQueries({ queryKey: meQuery.queryKey });
      void queries.invalidateQueries({ queryKey: ["sessions"] });
      toast({ text: words.account.passwordSaved });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const ofField = errorOf(save.error, "password") ?? (proof && errorOf(save.error, proof));
  return (
    <Card className="max-w-xl">
      <form onSubmit={submit} className="flex flex-col items-start gap-4">
        <input type="hidden" autoComplete="username" value={me.email} readOnly />
        {proof && <ProofField proof={proof} value={given} onChange={setGiven} error={save.error} />}
        <TextField
          className="w-full"
          label={words.account.passwordNew}
          hint={words.account.passwordHint}
          type="password"
          autoComplete="new-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          error={errorOf(save.error, "password")}
        />
        {save.error && !ofField ? <ErrorNote error={save.error} /> : null}
        <Button type="submit" look="primary" isBusy={save.isPending}>
          {words.account.passwordSave}
        </Button>
      </form>
    </Card>
  );
}
