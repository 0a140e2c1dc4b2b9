import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useMe } from "@/app/session";
import { type Ask, onConfirmationNeeded, onSecondFactorNeeded, onSignInNeeded } from "@/lib/api";
import { ConfirmForm, SignInForm } from "@/signin";
import { Dialog } from "@/ui/Dialog";
import { words } from "@/words/app";

type Wanted = "signIn" | "confirmPassword";

/** Asks for a sign-in, or for the password again, over the screen that needs it: what the screen
 * shows, and what is typed in it, stay. Requests that wait for it go on afterwards.
 */
export function SignInDialogs() {
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const waiting = useRef<((isDone: boolean) => void)[]>([]);
  const queries = useQueryClient();
  const me = useMe();
  const navigate = useNavigate();
  useEffect(() => {
    const ask =
      (what: Wanted): Ask =>
      () =>
        new Promise((resolve) => {
          waiting.current.push(resolve);
          setWanted(what);
        });
    onSignInNeeded(ask("signIn"));
    onConfirmationNeeded(ask("confirmPassword"));
    onSecondFactorNeeded(async () => {
      await navigate({ to: "/account", search: { tab: "factor" } });
      return false;
    });
  }, [navigate]);
  const end = (isDone: boolean) => {
    const resolved = waiting.current.splice(0);
    setWanted(null);
    for (const resolve of resolved) resolve(isDone);
    if (isDone && wanted === "signIn") void queries.invalidateQueries();
  };
  const isSignIn = wanted === "signIn";
  return (
    <Dialog
      isOpen={wanted !== null}
      onClose={() => end(false)}
      title={isSignIn ? words.signedOut : words.confirmTitle}
      description={isSignIn ? words.signedOutHint : words.confirmHint}
    >
      {isSignIn ? (
        <SignInForm email={me.email} onDone={() => end(true)} />
      ) : (
        <ConfirmForm hasPassword={me.has_password} onDone={() => end(true)} />
      )}
    </Dialog>
  );
}
