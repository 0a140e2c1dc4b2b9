import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { LEVELS } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { Button } from "@/ui/Button";
import { Copyable } from "@/ui/Copy";
import { Dialog, FormDialog } from "@/ui/Dialog";
import { Checkbox, TextAreaField } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/settings";
import { type Invite, invitesQuery, membersQuery, rolesQuery } from "../queries";
import { SecretDialog } from "../SecretDialog";
import { addressProblems, type Problem, readAddresses, refusedAddress } from "./addresses";
import { givenBy, type LevelNumber, levelOf, levelOptions, useOwnLevel } from "./levels";

const T = words.invites;

/** Opens the dialog, and shows the links of the invites that were made. */
export function InviteButton() {
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<readonly Invite[]>([]);
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
          onMade={(invites) => {
            setOpen(false);
            setMade(invites);
          }}
        />
      )}
      <InviteLinks invites={made} onClose={() => setMade([])} />
    </>
  );
}

function InviteLinks({ invites, onClose }: { invites: readonly Invite[]; onClose: () => void }) {
  const [first, ...others] = invites;
  if (others.length === 0) {
    return (
      <SecretDialog
        title={T.linkTitle}
        description={T.linkHint(first?.target_email ?? "")}
        secret={first?.link ?? null}
        what={T.link}
        done={T.done}
        onClose={onClose}
      >
        {first?.emailing_attempt_made && <p>{T.linkMailed(first.target_email)}</p>}
      </SecretDialog>
    );
  }
  return (
    <Dialog isOpen onClose={onClose} title={T.linksTitle} description={T.linksHint}>
      <div className="flex flex-col gap-4">
        <ul className="flex flex-col gap-2">
          {invites.map((invite) => (
            <li key={invite.id} className="flex flex-col">
              <bdi className="font-medium">{invite.target_email}</bdi>
              <Copyable text={invite.link ?? ""} what={T.linkOf(invite.target_email)} />
            </li>
          ))}
        </ul>
        {invites.every((invite) => invite.emailing_attempt_made) && <p>{T.linksMailed}</p>}
        <div className="flex justify-end">
          <Button look="primary" onClick={onClose}>
            {T.done}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

interface InviteDialogProps {
  onClose: () => void;
  onMade: (invites: readonly Invite[]) => void;
}

function InviteDialog({ onClose, onMade }: InviteDialogProps) {
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const [hasTried, setTried] = useState(false);
  const [level, setLevel] = useState<LevelNumber>(LEVELS.member);
  const [roles, setRoles] = useState<readonly string[]>([]);
  const emails = readAddresses(text);
  const members = useQuery(membersQuery).data ?? [];
  const invite = useMutation({
    mutationFn: (sent: readonly string[]) =>
      dataOf(
        api.POST("/api/organizations/{organization}/invites/bulk/", {
          params: { path: { organization: "@current" } },
          body: sent.map((target_email) => ({ target_email, level, roles: [...roles] })),
        }),
      ),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: invitesQuery.queryKey });
      onMade(made);
    },
  });
  const known = addressProblems(
    emails,
    members.map((member) => member.user.email),
  );
  const refused = refusedAddress(invite.error, invite.variables ?? []);
  const problems = known.length > 0 || refused === undefined ? known : [refused];
  const submit = () => {
    setTried(true);
    if (known.length === 0) invite.mutate(emails);
  };
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={T.title}
      submit={T.sendTo(emails.length)}
      onSubmit={submit}
      isBusy={invite.isPending}
      canSubmit={emails.length > 0}
      error={refused ? undefined : invite.error}
    >
      <TextAreaField
        label={T.emails}
        hint={T.emailsHint}
        rows={2}
        autoComplete="off"
        spellCheck={false}
        required
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setTried(false);
        }}
        error={hasTried && problems.length > 0 && <ProblemList problems={problems} />}
      />
      <SelectField
        label={T.level}
        hint={words.levelHints[level]}
        value={String(level)}
        options={levelOptions(givenBy(useOwnLevel()))}
        onChange={(chosen) => setLevel(levelOf(chosen))}
      />
      <RoleChoice chosen={roles} onChange={setRoles} />
    </FormDialog>
  );
}

function ProblemList({ problems }: { problems: readonly Problem[] }) {
  return problems.map(({ email, text }) => (
    <span key={`${email} ${text}`} className="block">
      {email !== "" && (
        <>
          <bdi>{email}</bdi>:{" "}
        </>
      )}
      {text}
    </span>
  ));
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
