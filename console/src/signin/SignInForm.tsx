import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { preflightQuery } from "@/app/session";
import { dataOf, publicApi } from "@/lib/api";
import { ApiError } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { ErrorNote } from "@/ui/States";
import { words } from "@/words/signin";
import { CodeForm } from "./CodeForm";
import { ForgotForm } from "./ForgotForm";
import { ProviderLink } from "./ProviderLink";

interface SignInFormProps {
  /** The address of the user whose session has ended; otherwise the form asks for it. */
  email?: string;
  /** The URL to which the provider returns. */
  next?: string;
  onDone: () => void;
}

/** E-mail address and password, the second factor where there is one, and the provider. */
export function SignInForm({ email: known, next = "/", onDone }: SignInFormProps) {
  const [email, setEmail] = useState(known ?? "");
  const [password, setPassword] = useState("");
  const [step, setStep] = useState<"password" | "code" | "forgot">("password");
  const preflight = useQuery(preflightQuery);
  const signIn = useMutation({
    mutationFn: () => dataOf(publicApi.POST("/api/login/", { body: { email, password } })),
    onSuccess: onDone,
    onError: (error) => {
      if (error instanceof ApiError && error.code === "two_factor_required") setStep("code");
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    signIn.mutate();
  };
  const onBack = () => setStep("password");
  if (step === "code") return <CodeForm onDone={onDone} onBack={onBack} />;
  if (step === "forgot") return <ForgotForm email={email} onBack={onBack} />;
  const providers = Object.keys(preflight.data?.available_social_auth_providers ?? {});
  return (
    <div className="flex flex-col gap-4">
      {preflight.data?.password_sign_in !== false && (
        <form onSubmit={submit} className="flex flex-col gap-4">
          <TextField
            label={words.email}
            type="email"
            autoComplete="username"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <TextField
            label={words.password}
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
          {signIn.error ? <ErrorNote error={signIn.error} /> : null}
          <Button type="submit" look="primary" isBusy={signIn.isPending}>
            {words.submit}
          </Button>
          <Button
            look="quiet"
            small
            className="-mt-2 -ml-2 self-start"
            onClick={() => setStep("forgot")}
          >
            {words.forgot}
          </Button>
        </form>
      )}
      {providers.map((name) => (
        <ProviderLink key={name} next={next} label={words.withProvider(words.provider)} />
      ))}
    </div>
  );
}
