import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { dataOf, publicApi } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { ErrorNote } from "@/ui/States";
import { words } from "@/words/signin";

/** The second factor of a sign-in whose password was right. */
export function CodeForm({ onDone, onBack }: { onDone: () => void; onBack: () => void }) {
  const [token, setToken] = useState("");
  const check = useMutation({
    mutationFn: () =>
      dataOf(publicApi.POST("/api/login/token/", { body: { token: token.trim() } })),
    onSuccess: onDone,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    check.mutate();
  };
  const ofField = errorOf(check.error, "token");
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <h2 className="font-semibold">{words.codeTitle}</h2>
      <TextField
        label={words.code}
        hint={words.codeHint}
        error={ofField}
        autoComplete="one-time-code"
        required
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      {check.error && !ofField ? <ErrorNote error={check.error} /> : null}
      <div className="flex gap-2">
        <Button type="submit" look="primary" isBusy={check.isPending}>
          {words.codeSubmit}
        </Button>
        <Button look="quiet" onClick={onBack}>
          {words.startAgain}
        </Button>
      </div>
    </form>
  );
}
