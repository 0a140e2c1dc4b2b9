import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { dataOf, publicApi } from "@/lib/api";
import { prefix } from "@/lib/prefix";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { ErrorNote } from "@/ui/States";
import { words } from "@/words/signin";
import { ProviderLink } from "./ProviderLink";

/** The password again, or the provider's sign-in, for what needs a fresh one. */
export function ConfirmForm({ hasPassword, onDone }: { hasPassword: boolean; onDone: () => void }) {
  const [password, setPassword] = useState("");
  const confirm = useMutation({
    mutationFn: () => dataOf(publicApi.POST("/api/login/reauthenticate/", { body: { password } })),
    onSuccess: onDone,
  });
  if (!hasPassword) {
    const here = location.pathname.slice(prefix.length) + location.search;
    return (
      <div className="flex flex-col gap-4">
        <p>{words.providerHint}</p>
        <ProviderLink next={here} label={words.confirmWithProvider} reauthenticates />
      </div>
    );
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    confirm.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextField
        label={words.password}
        type="password"
        autoComplete="current-password"
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      {confirm.error ? <ErrorNote error={confirm.error} /> : null}
      <Button type="submit" look="primary" isBusy={confirm.isPending}>
        {words.confirm}
      </Button>
    </form>
  );
}
