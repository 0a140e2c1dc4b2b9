import { useQueryClient } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { useShortcuts } from "@/lib/shortcuts";
import { Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { toast } from "@/ui/Toast";
import { useTimes } from "@/ui/times";
import { words } from "@/words/flagEditor";
import { type Flag, readRules } from "../model";
import { flagQuery, isConflict, type UnsavedFlag, useChangeFlag } from "../queries";
import { TRY_IT } from "../search";
import type { Names } from "../sentence";
import { ConflictDialog } from "./ConflictDialog";
import { differences } from "./changes";
import { changesOf } from "./fields";
import { JsonDialog } from "./JsonDialog";
import { problemsOf, useFieldProblems } from "./problems";
import { RulesForm } from "./RulesForm";
import { SaveBar } from "./SaveBar";
import { SaveDialog } from "./SaveDialog";
import { TryIt } from "./TryIt";
import { type FlagEditor, useFlagEditor } from "./useFlagEditor";
import { useReach } from "./useReach";
import { useWhoChanges } from "./WhoChanges";

export type OpenDialog = "json" | "save" | "conflict" | null;

interface TargetingTabProps {
  projectId: string;
  flag: Flag;
  names: Names;
  canEdit: boolean;
  draftName: string;
  who: string;
  onWho: (who: string) => void;
  dialog: OpenDialog;
  onDialog: (dialog: OpenDialog) => void;
}

/** The rules of a flag: changed, tried, counted and saved. */
export function TargetingTab(props: TargetingTabProps) {
  const { projectId, flag, names, canEdit, onDialog } = props;
  const editor = useFlagEditor(flag, props.draftName);
  const [fieldProblems, onProblem] = useFieldProblems();
  // Texts that were not applied go with the changes that are discarded.
  const [round, setRound] = useState(0);
  const tryInput = useRef<HTMLInputElement>(null);
  const reach = useReach(projectId, flag.id, editor.rules);
  const problems = problemsOf(editor.fields, editor.rules, fieldProblems, flag.key);
  const isReady = problems.length === 0;
  const unsaved = useUnsaved(flag, editor, isReady);
  const changing = useWhoChanges(projectId, editor.isDirty && flag.active ? unsaved : null);
  const isToTry = useLocation({ select: ({ hash }) => hash === TRY_IT });
  useEffect(() => {
    if (isToTry) tryInput.current?.focus();
  }, [isToTry]);
  useShortcuts([
    { keys: ".", label: words.json, group: "do", run: () => onDialog("json") },
    { keys: "t", label: words.tryIt, group: "do", run: () => tryInput.current?.focus() },
    {
      keys: "mod+s",
      label: words.review,
      group: "do",
      run: () => editor.isDirty && isReady && onDialog("save"),
    },
  ]);
  const discard = () => {
    const { fields } = editor;
    editor.discard();
    setRound(round + 1);
    toast({ text: words.discarded, undo: () => editor.replace(fields) });
  };
  return (
    <div className="flex flex-col gap-4">
      <Notes {...props} editor={editor} onDiscard={discard} />
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <RulesForm
          key={round}
          rules={editor.rules}
          fields={editor.fields}
          reach={reach}
          names={names}
          error={reach.error ?? changing.error}
          savedKey={flag.key}
          canEdit={canEdit}
          showProblems={false}
          onRules={editor.setRules}
          onFields={editor.set}
          onProblem={onProblem}
          onJson={() => onDialog("json")}
        />
        <div className="lg:sticky lg:top-16 lg:max-h-[calc(100dvh-10rem)] lg:overflow-y-auto">
          <TryIt
            projectId={projectId}
            who={props.who}
            onWho={props.onWho}
            unsaved={unsaved}
            isDirty={editor.isDirty}
            rules={editor.rules}
            savedRules={readRules(flag.filters)}
            names={names}
            isByDevice={editor.fields.bucketing_identifier === "device_id"}
            inputRef={tryInput}
          />
        </div>
      </div>
      {editor.isDirty && (
        <SaveBar
          problems={problems}
          changing={changing}
          isOn={flag.active}
          onReview={() => onDialog(editor.theirs === null ? "save" : "conflict")}
          onDiscard={discard}
        />
      )}
      <Dialogs {...props} editor={editor} changing={changing} />
    </div>
  );
}

function useUnsaved(flag: Flag, editor: FlagEditor, isReady: boolean): UnsavedFlag | null {
  const { base, fields } = editor;
  return useMemo(
    () => (isReady ? { id: flag.id, ...changesOf(base, fields) } : null),
    [flag.id, base, fields, isReady],
  );
}

type PartProps = TargetingTabProps & { editor: FlagEditor };

function Notes({ editor, onDialog, onDiscard }: PartProps & { onDiscard: () => void }) {
  const times = useTimes();
  const { keptAt, theirs, hasTaken, isDirty } = editor;
  if (!isDirty) return null;
  return (
    <>
      {keptAt !== null && (
        <Notice>
          <span className="mr-3">{words.keptSince(times.at(keptAt))}</span>
          <Button small onClick={onDiscard}>
            {words.discard}
          </Button>
        </Notice>
      )}
      {theirs !== null ? (
        <Notice tone="warn">
          <span className="mr-3">{words.collides}</span>
          <Button small onClick={() => onDialog("conflict")}>
            {words.compare}
          </Button>
        </Notice>
      ) : (
        hasTaken && <Notice tone="warn">{words.takenOver}</Notice>
      )}
    </>
  );
}

function Dialogs(props: PartProps & { changing: ReturnType<typeof useWhoChanges> }) {
  const { projectId, flag, names, canEdit, dialog, onDialog, editor, changing } = props;
  const queries = useQueryClient();
  const save = useChangeFlag(projectId, flag.id);
  const close = () => {
    save.reset();
    onDialog(null);
  };
  const submit = () =>
    save.mutate(
      { ...changesOf(editor.base, editor.fields), version: editor.version },
      {
        onSuccess: (now) => {
          editor.saved(now);
          toast({ text: words.wasSaved(now.key) });
          onDialog(null);
        },
        onError: (error) => {
          // Reads what others have saved and merges it with the changes.
          if (!isConflict(error)) return;
          save.reset();
          void queries.fetchQuery({ ...flagQuery(projectId, flag.id), staleTime: 0 });
        },
      },
    );
  if (dialog === "json") {
    return (
      <JsonDialog
        projectId={projectId}
        flagId={flag.id}
        fields={editor.fields}
        canEdit={canEdit}
        onApply={editor.replace}
        onClose={close}
      />
    );
  }
  if (dialog === null || !editor.isDirty) return null;
  if (editor.theirs !== null) {
    return (
      <ConflictDialog
        base={editor.base}
        mine={editor.fields}
        theirs={editor.theirs.fields}
        names={names}
        onResolve={(fields) => {
          editor.resolve(fields);
          onDialog("save");
        }}
        onClose={close}
      />
    );
  }
  return (
    <SaveDialog
      differences={differences(editor.base, editor.fields, names)}
      changing={changing}
      isOn={flag.active}
      hasTaken={editor.hasTaken}
      isBusy={save.isPending}
      error={save.error}
      onSave={submit}
      onClose={close}
    />
  );
}
