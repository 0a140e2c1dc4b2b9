import { useQuery } from "@tanstack/react-query";
import { useMe } from "@/app/session";
import { errorOf } from "@/lib/errors";
import { TextField } from "@/ui/Field";
import { words } from "@/words/settings";
import { secondFactorQuery } from "../queries";

/** The field of a change that proves who makes it; null where a fresh sign-in is enough. */
export type Proof = "current_password" | "token" | null;

/** Return the proof that the server requires to change the account's address or password. */
export function useProof(): Proof {
  const me = useMe();
  const factor = useQuery({ ...secondFactorQuery, enabled: !me.has_password });
  if (me.has_password) return "current_password";
  return factor.data?.is_enabled ? "token" : null;
}

interface ProofFieldProps {
  proof: Exclude<Proof, null>;
  value: string;
  onChange: (value: string) => void;
  error: unknown;
}

export function ProofField({ proof, value, onChange, error }: ProofFieldProps) {
  const isPassword = proof === "current_password";
  return (
    <TextField
      className="w-full"
      label={isPassword ? words.account.passwordCurrent : words.factor.code}
      type={isPassword ? "password" : "text"}
      autoComplete={isPassword ? "current-password" : "one-time-code"}
      required
      value={value}
      onChange={(event) => onChange(event.target.value)}
      error={errorOf(error, proof)}
    />
  );
}
