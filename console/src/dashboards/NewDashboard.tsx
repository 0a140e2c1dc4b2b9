import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { flagOptions } from "@/filters";
import { createDashboard } from "@/insights";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { Combobox } from "@/ui/combobox";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { RadioList } from "@/ui/RadioList";
import { words } from "@/words/dashboards";

const T = words.templates;
const BLANK = "blank";
const FLAG = "flag";
const TEMPLATES = [
  { value: BLANK, label: T.blank, hint: T.blankHint },
  { value: "product", label: T.product, hint: T.productHint },
  { value: "web", label: T.web, hint: T.webHint },
  { value: FLAG, label: T.flag, hint: T.flagHint },
] as const;
type TemplateName = (typeof TEMPLATES)[number]["value"];

/** A button that creates a dashboard, empty or by a template. */
export function NewDashboard() {
  const canEdit = useCanEdit();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        look="primary"
        icon={Plus}
        disabled={!canEdit}
        title={canEdit ? undefined : words.viewerHint}
        onClick={() => setOpen(true)}
      >
        {words.create}
      </Button>
      {isOpen && <CreationDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function CreationDialog({ onClose }: { onClose: () => void }) {
  const projectId = useProjectId();
  const [name, setName] = useState("");
  const [template, setTemplate] = useState<TemplateName>(BLANK);
  const [flag, setFlag] = useState<string | null>(null);
  const { create, error, isBusy } = useCreation();
  const submit = () =>
    void create({
      name: name.trim(),
      ...(template !== BLANK && { use_template: template }),
      ...(template === FLAG && { flag_key: flag }),
    });
  const ofField = errorOf(error, "name") ?? errorOf(error, "flag_key");
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={words.createTitle}
      submit={words.createSubmit}
      canSubmit={template !== FLAG || flag !== null}
      isBusy={isBusy}
      error={ofField === undefined ? error : undefined}
      onSubmit={submit}
    >
      <TextField
        label={words.columns.name}
        isOptional
        hint={template === BLANK ? undefined : T.nameHint}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={errorOf(error, "name")}
      />
      <RadioList label={T.label} value={template} options={TEMPLATES} onChange={setTemplate} />
      {template === FLAG && (
        <Combobox
          label={T.flagField}
          mono
          options={flagOptions(projectId)}
          value={flag}
          onChange={setFlag}
          {...(errorOf(error, "flag_key") !== undefined && { error: errorOf(error, "flag_key") })}
        />
      )}
    </FormDialog>
  );
}

/** Creates a dashboard and opens it. */
function useCreation() {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const create = async (body: Parameters<typeof createDashboard>[1]) => {
    setBusy(true);
    setError(null);
    try {
      const made = await createDashboard(projectId, body);
      void queries.invalidateQueries({ queryKey: ["dashboards", projectId] });
      void queries.invalidateQueries({ queryKey: ["insights", projectId] });
      await navigate({
        to: "/project/$projectId/dashboards/$dashboardId",
        params: { projectId, dashboardId: String(made.id) },
      });
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return { create, error, isBusy };
}
