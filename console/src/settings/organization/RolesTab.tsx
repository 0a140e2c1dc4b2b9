import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, ShieldCheck } from "lucide-react";
import { useState } from "react";
import { LEVELS } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { Card } from "@/ui/Page";
import { SelectField } from "@/ui/Select";
import { Empty, Loaded } from "@/ui/States";
import { words } from "@/words/settings";
import { ACCESS, type AccessLevel, defaultAccessQuery, rolesQuery } from "../queries";
import { DefaultAccess, isOpenToAll } from "./DefaultAccess";
import { useOwnLevel } from "./levels";
import { RoleCard } from "./RoleCard";
import { ACCESS_OPTIONS, accessOf } from "./roles";

const T = words.roles;

export function RolesTab() {
  const roles = useQuery(rolesQuery);
  const isAdmin = useOwnLevel() >= LEVELS.admin;
  const access = useQuery(defaultAccessQuery).data;
  const [isCreating, setCreating] = useState(false);
  return (
    <div className="flex max-w-3xl flex-col gap-4">
      <DefaultAccess isAdmin={isAdmin} />
      <Card
        title={T.label}
        description={T.emptyHint}
        actions={
          <Button
            look="primary"
            icon={Plus}
            disabled={!isAdmin}
            title={isAdmin ? undefined : words.onlyAdmins}
            onClick={() => setCreating(true)}
          >
            {T.create}
          </Button>
        }
      >
        {access !== undefined && isOpenToAll(access) && (
          <Notice className="mb-3">{T.noEffect}</Notice>
        )}
        <Loaded query={roles}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty icon={ShieldCheck} title={T.empty} />
            ) : (
              <ul className="flex flex-col gap-3">
                {rows.map((role) => (
                  <RoleCard key={role.id} role={role} isAdmin={isAdmin} />
                ))}
              </ul>
            )
          }
        </Loaded>
        {isCreating && <NewRoleDialog onClose={() => setCreating(false)} />}
      </Card>
    </div>
  );
}

function NewRoleDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [access, setAccess] = useState<AccessLevel>(ACCESS.edit);
  const create = useMutation({
    mutationFn: () =>
      dataOf(
        api.POST("/api/organizations/{organization}/roles/", {
          params: { path: { organization: "@current" } },
          body: { name: name.trim(), feature_flags_access_level: access },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: rolesQuery.queryKey });
      onClose();
    },
  });
  const ofField = errorOf(create.error, "name");
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={T.create}
      submit={T.create}
      onSubmit={() => create.mutate()}
      isBusy={create.isPending}
      canSubmit={name.trim() !== ""}
      error={ofField ? undefined : create.error}
    >
      <TextField
        label={T.name}
        required
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={ofField}
      />
      <SelectField
        label={T.access}
        value={String(access)}
        options={ACCESS_OPTIONS}
        onChange={(text) => setAccess(accessOf(text))}
      />
    </FormDialog>
  );
}
