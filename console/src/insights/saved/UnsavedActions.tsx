import { useNavigate } from "@tanstack/react-router";
import { Save } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { useKind } from "@/insights/kinds";
import { completed } from "@/insights/question/complete";
import type { Question } from "@/insights/question/model";
import { useShortcuts } from "@/lib/shortcuts";
import { Button } from "@/ui/Button";
import { toast } from "@/ui/Toast";
import { words } from "@/words/insightsSaved";
import { AddToDashboard } from "./AddToDashboard";
import { type Details, DetailsDialog } from "./DetailsDialog";
import { useInsightCreation } from "./queries";
import { storedForm } from "./stored";
import { useSentence } from "./useSentence";

export const DERIVED_MAX = 400;

/** The actions of an unsaved question. */
export function UnsavedActions({ question }: { question: Question }) {
  const canEdit = useCanEdit();
  const [isNaming, setNaming] = useState(false);
  const sentence = useSentence(question);
  const save = useSaveNew(question, sentence);
  const isAskable = sentence !== null;
  useShortcuts([{ keys: "mod+s", run: () => isAskable && canEdit && setNaming(true) }]);
  return (
    <>
      <AddToDashboard
        shownOn={[]}
        disabled={!isAskable}
        onChange={(dashboards) => save({ name: "", description: "", tags: [] }, dashboards)}
      />
      <Button
        look="primary"
        icon={Save}
        disabled={!isAskable || !canEdit}
        title={canEdit ? undefined : words.viewerHint}
        onClick={() => setNaming(true)}
      >
        {words.save}
      </Button>
      {isNaming && (
        <DetailsDialog
          title={words.saveTitle}
          details={{ name: "", description: "", tags: [] }}
          onClose={() => setNaming(false)}
          onSave={async (details) => {
            await save(details, []);
            toast({ text: words.saved });
          }}
        />
      )}
    </>
  );
}

/** Saves the question as a new insight and opens it. */
export function useSaveNew(question: Question, sentence: string | null) {
  const projectId = useProjectId();
  const navigate = useNavigate();
  const creation = useInsightCreation();
  const kind = useKind(question.kind).data;
  return async ({ name, description, tags }: Details, dashboards: number[]) => {
    if (kind === undefined) return;
    const made = await creation.mutateAsync({
      name: name === "" ? null : name,
      derived_name: sentence?.slice(0, DERIVED_MAX) ?? null,
      description,
      tags,
      dashboards,
      query: storedForm(kind, completed(question)),
      saved: true,
    });
    await navigate({
      to: "/project/$projectId/insights/$insightId",
      params: { projectId, insightId: String(made.id) },
    });
  };
}
