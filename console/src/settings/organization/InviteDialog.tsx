import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { LEVELS } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { Checkbox, TextField } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/settings";
import { type Invite, invitesQuery, rolesQuery } from "../queries";
import { SecretDialog } from "../SecretDialog";
import { givenBy, type LevelNumber, levelOf, levelOptions, useOwnLevel } from "./levels";

const T = words.invites;

/** Opens the dialog, and shows the link of the invite that was made. */
export function InviteButton() {
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<Invite | null>(null);
  const isAdmin = useOwnLevel() >= LEVELS.admin;
  return (
    <>
      <Button
        look="primary"
        icon={UserPlus}
        disabled={!isAdmin}
        title={isAdmin ? undefined : words.onlyAdmins}
        onClick={() => setOpen(true)}
      >
        {T.invite}
      </Button>
      {isOpen && (
        <InviteDialog
          onClose={() => setOpen(false)}
          onMade={(invite) => {
            setOpen(false);
            setMade(invite);
          }}
        />
      )}
      <SecretDialog
        title={T.linkTitle}
        description={T.linkHint(made?.target_email ?? "")}
        secret={made?.link ?? null}
        what={T.link}
        done={T.done}
        onClose={() => setMade(null)}
      >
        {made?.emailing_attempt_made && <p>{T.linkMailed(made.target_email)}</p>}
      </SecretDialog>
    </>
  );
}

interface InviteDialogProps {
  onClose: () => void;
  onMade: (invite: Invite) => void;
}

function InviteDialog({ onClose, onMade }: InviteDialogProps) {
  const queries = useQueryClient();
  const [email, setEmail] = useState("");
  const [level, setLevel] = useState<LevelNumber>(LEVELS.member);
  const [roles, setRoles] = useState<readonly string[]>([]);
  const invite = useMutation({
    mutationFn: () =>
      dataOf(
        api.POST("/api/organizations/{organization}/invites/", {
          params: { path: { organization: "@current" } },
          body: { target_email: email.trim(), level, roles: [...roles] },
        }),
      ),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: invitesQuery.queryKey });
      onMade(made);
    },
  });
  const ofField = errorOf(invite.error, "target_email");
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={T.title}
      submit={T.send}
      onSubmit={() => invite.mutate()}
      isBusy={invite.isPending}
      canSubmit={email.trim() !== ""}
      error={ofField ? undefined : invite.error}
    >
      <TextField
        label={T.email}
        type="email"
        autoComplete="off"
        required
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        error={ofField}
      />
      <SelectField
        label={T.level}
        hint={words.levelHints[level]}
        value={String(level)}
        options={levelOptions(givenBy(useOwnLevel()))}
        onChange={(text) => setLevel(levelOf(text))}
      />
      <RoleChoice chosen={roles} onChange={setRoles} />
    </FormDialog>
  );
}

interface RoleChoiceProps {
  chosen: readonly string[];
  onChange: (ids: readonly string[]) => void;
}

function RoleChoice({ chosen, onChange }: RoleChoiceProps) {
  const roles = useQuery(rolesQuery).data ?? [];
  if (roles.length === 0) return null;
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1 font-medium">{T.roles}</legend>
      {roles.map((role) => (
        <Checkbox
          key={role.id}
          label={<bdi>{role.name}</bdi>}
          checked={chosen.includes(role.id)}
          onChange={(isChosen) =>
            onChange(isChosen ? [...chosen, role.id] : chosen.filter((id) => id !== role.id))
          }
        />
      ))}
    </fieldset>
  );
}
