import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { preflightQuery } from "@/app/session";
import { dataOf, publicApi } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { TextField } from "@/ui/Field";
import { ErrorNote, Loaded } from "@/ui/States";
import { words } from "@/words/signin";

interface ForgotFormProps {
  /** What is in the field of the sign-in. */
  email: string;
  onBack: () => void;
}

/** Requests a link for a new password, or says how to get one from a server that sends no mail. */
export function ForgotForm({ email, onBack }: ForgotFormProps) {
  const preflight = useQuery(preflightQuery);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <div className="flex flex-col gap-4">
      <h2 ref={heading} tabIndex={-1} className="font-semibold text-lg outline-none">
        {words.forgotTitle}
      </h2>
      <Loaded query={preflight} rows={1}>
        {({ email_service_available }) =>
          email_service_available ? (
            <RequestForm email={email} />
          ) : (
            <>
              <p>{words.forgotByOperator}</p>
              <Code text={`fanion users reset ${argumentOf(email)}`} what={words.forgotCommand} />
            </>
          )
        }
      </Loaded>
      <Button look="quiet" onClick={onBack} className="-ml-3 self-start">
        {words.backToSignIn}
      </Button>
    </div>
  );
}

function RequestForm({ email: known }: { email: string }) {
  const [email, setEmail] = useState(known);
  const request = useMutation({
    mutationFn: () => dataOf(publicApi.POST("/api/reset/", { body: { email: email.trim() } })),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    request.mutate();
  };
  if (request.isSuccess) return <p role="status">{words.forgotSent(email.trim())}</p>;
  const ofField = errorOf(request.error, "email");
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextField
        label={words.email}
        hint={words.forgotHint}
        error={ofField}
        type="email"
        autoComplete="username"
        required
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      {request.error && !ofField ? <ErrorNote error={request.error} /> : null}
      <Button type="submit" look="primary" isBusy={request.isPending}>
        {words.forgotSend}
      </Button>
    </form>
  );
}

/** The address as an argument of a command, which a shell must not read as anything else. */
const argumentOf = (email: string): string =>
  /^[\w.+-]+@[\w.-]+$/.test(email.trim()) ? email.trim() : words.forgotExample;
