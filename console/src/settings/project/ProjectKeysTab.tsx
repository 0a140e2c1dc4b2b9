import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Project, useIsAdmin } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { Button } from "@/ui/Button";
import { Copyable } from "@/ui/Copy";
import { FormDialog } from "@/ui/Dialog";
import { SelectField } from "@/ui/Field";
import { Card } from "@/ui/Page";
import { toast, toastError } from "@/ui/Toast";
import { formatDateTime } from "@/words/format";
import { words } from "@/words/settings";
import { SecretDialog } from "../SecretDialog";
import { useReplaced } from "./projectChange";

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
                {formatDateTime(former.valid_until)}
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
  const [keep, setKeep] = useState<(typeof KEEPS)[number]["value"]>("86400");
  const replaced = useReplaced();
  const rotate = useMutation({
    mutationFn: () =>
      dataOf(
        api.PATCH("/api/projects/{project_id}/reset_token/", {
          params: { path: { project_id: String(project.id) } },
          body: { former_valid_s: Number(keep) },
        }),
      ),
    onSuccess: (changed) => {
      replaced(changed);
      toast({ text: T.rotated });
      onClose();
    },
  });
  return (
    <FormDialog
      isOpen
      isDanger
      onClose={onClose}
      title={T.rotateTitle}
      description={T.rotateHint}
      submit={T.rotate}
      onSubmit={() => rotate.mutate()}
      isBusy={rotate.isPending}
      error={rotate.error}
    >
      <SelectField label={T.keep} value={keep} options={KEEPS} onChange={setKeep} />
    </FormDialog>
  );
}

function SecretKeyCard({ project }: { project: Project }) {
  const isAdmin = useIsAdmin();
  const [made, setMade] = useState<string | null>(null);
  const path = { project_id: String(project.id) };
  const make = useMutation({
    mutationFn: () =>
      dataOf(api.POST("/api/projects/{project_id}/secret_key/", { params: { path }, body: {} })),
    onSuccess: (key) => setMade(key.secret_api_key),
    onError: toastError,
  });
  const remove = useMutation({
    mutationFn: () =>
      dataOf(api.DELETE("/api/projects/{project_id}/secret_key/", { params: { path } })),
    onSuccess: () => toast({ text: T.secretRemoved }),
    onError: toastError,
  });
  return (
    <Card title={T.secret} description={isAdmin ? T.secretHint : words.onlyAdmins}>
      <div className="flex flex-wrap gap-2">
        <Button disabled={!isAdmin} isBusy={make.isPending} onClick={() => make.mutate()}>
          {T.makeSecret}
        </Button>
        <Button
          look="danger"
          disabled={!isAdmin}
          isBusy={remove.isPending}
          onClick={() => remove.mutate()}
        >
          {T.removeSecret}
        </Button>
      </div>
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
