import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { encode } from "uqr";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { Copyable } from "@/ui/Copy";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { Loaded } from "@/ui/States";
import { words } from "@/words/settings";

interface SetUpDialogProps {
  onClose: () => void;
  onConfirmed: (recoveryCodes: readonly string[]) => void;
}

/** The secret of a new second factor, and the code that confirms it. */
export function SetUpDialog({ onClose, onConfirmed }: SetUpDialogProps) {
  const [token, setToken] = useState("");
  // Each time the dialog is opened: a secret that was not confirmed is worth nothing.
  const setup = useQuery({
    queryKey: ["second factor", "setup"],
    queryFn: () => dataOf(api.POST("/api/users/@me/two_factor_start_setup/")),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const confirm = useMutation({
    mutationFn: () =>
      dataOf(api.POST("/api/users/@me/two_factor_validate/", { body: { token: token.trim() } })),
    onSuccess: (made) => onConfirmed(made.backup_codes),
  });
  const ofField = errorOf(confirm.error, "token");
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={words.factor.setUp}
      description={words.factor.scan}
      submit={words.factor.confirm}
      onSubmit={() => confirm.mutate()}
      isBusy={confirm.isPending}
      canSubmit={setup.isSuccess && token.trim() !== ""}
      error={ofField ? undefined : confirm.error}
    >
      <Loaded query={setup}>
        {(found) => (
          <div className="flex flex-col items-center gap-3">
            <QrCode text={found.provisioning_uri} label={words.factor.qr} />
            <Copyable text={found.secret} what={words.factor.secret} />
          </div>
        )}
      </Loaded>
      <TextField
        label={words.factor.code}
        error={ofField}
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
    </FormDialog>
  );
}

function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text);
  const squares = data.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  );
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} className="size-48">
      <rect width={size} height={size} fill="#fff" />
      <path d={squares.join("")} fill="#000" />
    </svg>
  );
}
