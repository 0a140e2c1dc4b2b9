import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, Trash2 } from "lucide-react";
import { useState } from "react";
import { useReplaced } from "@/app/projectChange";
import { type Project, useIsAdmin } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { Button, IconButton } from "@/ui/Button";
import { Copyable } from "@/ui/Copy";
import { FormDialog } from "@/ui/Dialog";
import { Menu, MenuItem } from "@/ui/Menu";
import { Card } from "@/ui/Page";
import { SelectField } from "@/ui/Select";
import { Loaded } from "@/ui/States";
import { ClockTime } from "@/ui/Time";
import { toast, toastError } from "@/ui/Toast";
import { useTimes } from "@/ui/times";
import { words } from "@/words/settings";
import { SecretDialog } from "../SecretDialog";

const T = words.projectKeys;
const KEEPS = (["3600", "86400", "604800", "7776000"] as const).map((value) => ({
  value,
  label: T.keeps[value],
}));

export function ProjectKeysTab({ project }: { project: Project }) {
  return (
    <div className="flex max-w-3xl flex-col gap-4">
      <ProjectKeyCard project={project} />
      <SecretKeyCard project={project} />
    </div>
  );
}

function ProjectKeyCard({ project }: { project: Project }) {
  const isAdmin = useIsAdmin();
  const [isRotating, setRotating] = useState(false);
  return (
    <Card
      title={T.project}
      description={T.projectHint}
      actions={
        <Button
          disabled={!isAdmin}
          title={isAdmin ? undefined : words.onlyAdmins}
          onClick={() => setRotating(true)}
        >
          {T.rotate}
        </Button>
      }
    >
      <Copyable text={project.api_token} what={T.theKey} />
      {project.former_api_tokens.length > 0 && (
        <>
          <h3 className="mt-3 font-medium">{T.former}</h3>
          <ul>
            {project.former_api_tokens.map((former) => (
              <li key={former.api_token}>
                <code>{former.api_token}</code> · {T.validUntil}{" "}
                <ClockTime at={former.valid_until} />
              </li>
            ))}
          </ul>
        </>
      )}
      {isRotating && <RotateDialog project={project} onClose={() => setRotating(false)} />}
    </Card>
  );
}

function RotateDialog({ project, onClose }: { project: Project; onClose: () => void }) {
  const replaced = useReplaced();
  const rotate = useMutation({
    mutationFn: (keepS: number) =>
      dataOf(
        api.PATCH("/api/projects/{project_id}/reset_token/", {
          params: { path: { project_id: String(project.id) } },
          body: { former_valid_s: keepS },
        }),
      ),
    onSuccess: (changed) => {
      replaced(changed);
      toast({ text: T.rotated });
      onClose();
    },
  });
  return (
    <ReplaceDialog title={T.rotateTitle} hint={T.rotateHint} replace={rotate} onClose={onClose} />
  );
}

interface ReplaceDialogProps {
  title: string;
  hint: string;
  replace: { mutate: (keepS: number) => void; isPending: boolean; error: unknown };
  onClose: () => void;
}

/** Asks how long the current key stays valid. */
function ReplaceDialog({ title, hint, replace, onClose }: ReplaceDialogProps) {
  const [keep, setKeep] = useState<(typeof KEEPS)[number]["value"]>("86400");
  return (
    <FormDialog
      isOpen
      isDanger
      onClose={onClose}
      title={title}
      description={hint}
      submit={T.rotate}
      onSubmit={() => replace.mutate(Number(keep))}
      isBusy={replace.isPending}
      error={replace.error}
    >
      <SelectField label={T.keep} value={keep} options={KEEPS} onChange={setKeep} />
    </FormDialog>
  );
}

const secretKeyQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["secretKey", projectId],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/projects/{project_id}/secret_key/", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
  });

function SecretKeyCard({ project }: { project: Project }) {
  const times = useTimes();
  const projectId = String(project.id);
  const isAdmin = useIsAdmin();
  const state = useQuery(secretKeyQuery(projectId));
  const [asked, setAsked] = useState<"replace" | "revoke" | null>(null);
  const [made, setMade] = useState<string | null>(null);
  const close = () => setAsked(null);
  const make = useMakeSecret(projectId, (key) => {
    setMade(key);
    close();
  });
  const mask = state.data?.mask_value ?? null;
  return (
    <Card
      title={T.secret}
      description={isAdmin ? T.secretHint : words.onlyAdmins}
      actions={
        mask !== null && (
          <>
            <Button disabled={!isAdmin} onClick={() => setAsked("replace")}>
              {T.replaceSecret}
            </Button>
            <Menu trigger={<IconButton icon={Ellipsis} label={T.secretMore} look="default" />}>
              <MenuItem
                icon={Trash2}
                isDanger
                disabled={!isAdmin}
                onSelect={() => setAsked("revoke")}
              >
                {T.removeSecret}
              </MenuItem>
            </Menu>
          </>
        )
      }
    >
      <Loaded query={state} rows={1}>
        {({ mask_value: shown, created_at: createdAt }) =>
          shown === null ? (
            <div className="flex flex-wrap items-center gap-3">
              <p className="text-ink-2">{T.noSecret}</p>
              <Button
                disabled={!isAdmin}
                isBusy={make.isPending}
                onClick={() => make.mutate(0, { onError: toastError })}
              >
                {T.makeSecret}
              </Button>
            </div>
          ) : (
            <p>
              <code>{shown}</code>
              {createdAt !== null && ` · ${T.secretMade} ${times.at(createdAt)}`}
            </p>
          )
        }
      </Loaded>
      {asked === "replace" && (
        <ReplaceDialog
          title={T.replaceSecretTitle}
          hint={T.replaceSecretHint}
          replace={make}
          onClose={close}
        />
      )}
      {asked === "revoke" && <RevokeDialog projectId={projectId} onClose={close} />}
      <SecretDialog
        title={T.secretTitle}
        description={T.secretShown}
        secret={made}
        what={T.theSecret}
        done={T.done}
        onClose={() => setMade(null)}
      />
    </Card>
  );
}

/** Makes a key, or replaces the current one, which stays valid for so many seconds. */
function useMakeSecret(projectId: string, onMade: (key: string) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (keepS: number) =>
      dataOf(
        api.POST("/api/projects/{project_id}/secret_key/", {
          params: { path: { project_id: projectId } },
          body: { former_valid_s: keepS },
        }),
      ),
    onSuccess: (key) => {
      onMade(key.secret_api_key);
      return queries.invalidateQueries({ queryKey: secretKeyQuery(projectId).queryKey });
    },
  });
}

function RevokeDialog({ projectId, onClose }: { projectId: string; onClose: () => void }) {
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () =>
      dataOf(
        api.DELETE("/api/projects/{project_id}/secret_key/", {
          params: { path: { project_id: projectId } },
        }),
      ),
    onSuccess: async () => {
      toast({ text: T.secretRemoved });
      await queries.invalidateQueries({ queryKey: secretKeyQuery(projectId).queryKey });
      onClose();
    },
  });
  return (
    <FormDialog
      isOpen
      isDanger
      onClose={onClose}
      title={T.removeSecretTitle}
      description={T.removeSecretHint}
      submit={T.removeSecretSubmit}
      onSubmit={() => revoke.mutate()}
      isBusy={revoke.isPending}
      error={revoke.error}
    >
      {null}
    </FormDialog>
  );
}
