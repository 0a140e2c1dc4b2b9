import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { api, dataOf } from "@/lib/api";
import { Button } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { Card } from "@/ui/Page";
import { Empty, Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/settings";
import { keysQuery, type PersonalKey } from "../queries";
import { SecretDialog } from "../SecretDialog";
import { NewKeyDialog } from "./NewKeyDialog";

const T = words.keys;
const scopesOf = (key: PersonalKey): string =>
  key.scopes === null || key.scopes.includes("*") ? T.allScopes : key.scopes.join(", ");

const columnsWith = (onRevoke: (key: PersonalKey) => void): readonly Column<PersonalKey>[] => [
  {
    id: "name",
    header: T.name,
    grow: true,
    fixed: true,
    sortable: true,
    text: (key) => key.label,
    cell: (key) => <bdi>{key.label}</bdi>,
  },
  {
    id: "mask",
    header: T.mask,
    width: 130,
    text: (key) => key.mask_value,
    cell: (key) => <code>{key.mask_value}</code>,
  },
  { id: "scopes", header: T.scopes, width: 220, wrap: true, text: scopesOf, cell: scopesOf },
  {
    id: "created",
    header: words.created,
    width: 130,
    sortable: true,
    text: (key) => new Date(key.created_at),
    cell: (key) => <Time at={key.created_at} />,
  },
  {
    id: "used",
    header: T.used,
    width: 130,
    sortable: true,
    text: (key) => (key.last_used_at === null ? null : new Date(key.last_used_at)),
    cell: (key) => <Time at={key.last_used_at} />,
  },
  {
    id: "expires",
    header: T.expires,
    width: 130,
    sortable: true,
    text: (key) => (key.expires_at === null ? null : new Date(key.expires_at)),
    cell: (key) => <Time at={key.expires_at} />,
  },
  {
    id: "revoke",
    header: words.actions,
    width: 110,
    text: () => null,
    cell: (key) => (
      <Button small look="danger" onClick={() => onRevoke(key)}>
        {T.revoke}
      </Button>
    ),
  },
];

export function KeysTab() {
  const keys = useQuery(keysQuery);
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const [revoked, setRevoked] = useState<PersonalKey | null>(null);
  const [columns] = useState(() => columnsWith(setRevoked));
  const create = (
    <Button look="primary" icon={Plus} onClick={() => setCreating(true)}>
      {T.create}
    </Button>
  );
  return (
    <Card isFlush title={T.label} description={T.intro} actions={create}>
      <Loaded query={keys}>
        {(rows) => (
          <DataTable
            name="personal-keys"
            label={T.label}
            columns={columns}
            rows={rows}
            rowId={(key) => key.id}
            empty={
              <Empty icon={KeyRound} title={T.empty}>
                <p>{T.emptyHint}</p>
              </Empty>
            }
          />
        )}
      </Loaded>
      {isCreating && (
        <NewKeyDialog
          onClose={() => setCreating(false)}
          onMade={(value) => {
            setCreating(false);
            setMade(value);
          }}
        />
      )}
      {revoked && <RevokeDialog shown={revoked} onClose={() => setRevoked(null)} />}
      <SecretDialog
        title={T.createdTitle}
        description={T.createdHint}
        secret={made}
        what={T.key}
        done={T.done}
        onClose={() => setMade(null)}
      />
    </Card>
  );
}

function RevokeDialog({ shown, onClose }: { shown: PersonalKey; onClose: () => void }) {
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () =>
      dataOf(
        api.DELETE("/api/personal_api_keys/{key_id}/", { params: { path: { key_id: shown.id } } }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: keysQuery.queryKey });
      onClose();
    },
  });
  return (
    <FormDialog
      isOpen
      isDanger
      onClose={onClose}
      title={T.revokeTitle(shown.label)}
      description={T.revokeHint}
      submit={T.revoke}
      onSubmit={() => revoke.mutate()}
      isBusy={revoke.isPending}
      error={revoke.error}
    >
      {null}
    </FormDialog>
  );
}
