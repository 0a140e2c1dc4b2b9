import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { Select, SelectField } from "@/ui/Select";
import { words } from "@/words/settings";
import { keysQuery } from "../queries";

const T = words.keys;
type Scope = keyof typeof T.scopeNames;
type Mode = keyof typeof T.modes;
type Access = "none" | "read" | "write";
type Expiry = keyof typeof T.expiries;

const isScope = (name: string): name is Scope => name in T.scopeNames;
const SCOPES = Object.keys(T.scopeNames).filter(isScope);
const EXPIRIES = (["never", "30", "90", "365"] as const).map((value) => ({
  value,
  label: T.expiries[value],
}));
const ACCESSES = (["none", "read", "write"] as const).map((value) => ({ value, label: T[value] }));
const MODES = (["flags", "read", "all", "some"] as const).map((value) => ({
  value,
  label: T.modes[value],
}));
const DAY_MS = 86_400_000;

interface NewKeyDialogProps {
  onClose: () => void;
  onMade: (value: string) => void;
}

export function NewKeyDialog({ onClose, onMade }: NewKeyDialogProps) {
  const queries = useQueryClient();
  const [label, setLabel] = useState("");
  const [mode, setMode] = useState<Mode>("flags");
  const [accesses, setAccesses] = useState<Partial<Record<Scope, Access>>>({});
  const [expiry, setExpiry] = useState<Expiry>("90");
  const scopes = scopesOf(mode, accesses);
  const create = useMutation({
    mutationFn: () =>
      dataOf(
        api.POST("/api/personal_api_keys/", {
          body: { label, scopes, expires_at: expiresAt(expiry) },
        }),
      ),
    onSuccess: (key) => {
      void queries.invalidateQueries({ queryKey: keysQuery.queryKey });
      onMade(key.value ?? "");
    },
  });
  const ofField = errorOf(create.error, "label");
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={T.create}
      submit={T.create}
      onSubmit={() => create.mutate()}
      isBusy={create.isPending}
      canSubmit={label.trim() !== "" && (scopes === null || scopes.length > 0)}
      error={ofField ? undefined : create.error}
    >
      <TextField
        label={T.name}
        hint={T.nameHint}
        required
        value={label}
        onChange={(event) => setLabel(event.target.value)}
        error={ofField}
      />
      <SelectField label={T.expiry} value={expiry} options={EXPIRIES} onChange={setExpiry} />
      <SelectField label={T.access} value={mode} options={MODES} onChange={setMode} />
      {mode === "some" && (
        <fieldset className="grid gap-1.5 rounded-md border border-line p-3">
          <legend className="px-1 font-medium">{T.scopes}</legend>
          {SCOPES.map((scope) => (
            <div key={scope} className="grid grid-cols-2 items-center gap-2">
              <span>{T.scopeNames[scope]}</span>
              <Select
                aria-label={T.scopeNames[scope]}
                value={accesses[scope] ?? "none"}
                options={ACCESSES}
                onChange={(access) => setAccesses({ ...accesses, [scope]: access })}
              />
            </div>
          ))}
        </fieldset>
      )}
    </FormDialog>
  );
}

/** null: everything that the user may do */
function scopesOf(mode: Mode, accesses: Partial<Record<Scope, Access>>): string[] | null {
  if (mode === "all") return null;
  if (mode === "flags") return ["feature_flag:read"];
  if (mode === "read") return SCOPES.map((scope) => `${scope}:read`);
  return SCOPES.flatMap((scope) => {
    const access = accesses[scope] ?? "none";
    return access === "none" ? [] : [`${scope}:${access}`];
  });
}

const expiresAt = (expiry: Expiry): string | null =>
  expiry === "never" ? null : new Date(Date.now() + Number(expiry) * DAY_MS).toISOString();
