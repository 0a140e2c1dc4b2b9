import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { Annotated } from "@/annotations";
import { useCanEdit, useProjectId } from "@/app/session";
import { useThresholds } from "@/insights/alerts/thresholds";
import { QuestionView } from "@/insights/builder/InsightPage";
import { useKind } from "@/insights/kinds";
import type { Place } from "@/insights/kinds/kind";
import { type QuestionSearch, writeQuestion } from "@/insights/question/address";
import { completed } from "@/insights/question/complete";
import type { Question } from "@/insights/question/model";
import { useQuestion } from "@/insights/useQuestion";
import { ApiError } from "@/lib/errors";
import { useShortcuts } from "@/lib/shortcuts";
import { Button } from "@/ui/Button";
import { Keys } from "@/ui/Kbd";
import { toast, toastError } from "@/ui/Toast";
import { nameOfInsight, words } from "@/words/insightsSaved";
import { ConflictDialog } from "./ConflictDialog";
import { type Insight, insightKeys, readInsight, useInsightChange } from "./queries";
import { noteStored, queryOf, storedForm } from "./stored";
import { DERIVED_MAX, useSaveNew } from "./UnsavedActions";
import { useSentence } from "./useSentence";

const route = getRouteApi("/signed-in/project/$projectId/insights/$insightId");
const NO_NAMES: readonly string[] = [];

interface Props {
  insight: Insight;
  stored: Question;
}

/** The question of an insight. Changes are kept in the URL until they are saved. */
export function SavedQuestion({ insight, stored }: Props) {
  const { draft, behind, tab: _, page: __, alert: ___, edit: ____, ...changed } = route.useSearch();
  const navigate = route.useNavigate();
  const saved = useMemo(() => writeQuestion(stored), [stored]);
  const write = useCallback(
    (next: QuestionSearch) => {
      const isSaved = JSON.stringify(next) === JSON.stringify(saved);
      const search = isSaved ? {} : { ...next, draft: draft ?? insight.last_modified_at };
      void navigate({ search, resetScroll: false });
    },
    [navigate, saved, draft, insight.last_modified_at],
  );
  const state = useQuestion(draft === undefined ? { ...saved } : { ...changed }, NO_NAMES, write);
  const thresholds = useThresholds(insight.id);
  const projectId = useProjectId();
  const place = useMemo(() => ({ projectId, insightId: insight.id }), [projectId, insight.id]);
  const isChanged = JSON.stringify(writeQuestion(state.question)) !== JSON.stringify(saved);
  const discard = () => {
    state.setQuestion(stored);
    void navigate({ search: {}, resetScroll: false });
  };
  const openBehind = (place: Place | undefined) =>
    void navigate({
      search: ({ behind: _, ...others }) => ({
        ...others,
        ...(place !== undefined && { behind: place }),
      }),
      resetScroll: false,
    });
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Annotated value={place}>
        <QuestionView state={state} thresholds={thresholds} behind={behind} onBehind={openBehind} />
      </Annotated>
      {isChanged && (
        <Changes
          insight={insight}
          question={state.question}
          basedOn={draft ?? insight.last_modified_at}
          onDiscard={discard}
        />
      )}
    </div>
  );
}

interface ChangesProps {
  insight: Insight;
  question: Question;
  /** When the insight had last been changed as of when this edit began. */
  basedOn: string;
  onDiscard: () => void;
}

function Changes({ insight, question, basedOn, onDiscard }: ChangesProps) {
  const canEdit = useCanEdit();
  const sentence = useSentence(question);
  const { save, isBusy, theirs, keepTheirs, close } = useSave(insight, question, sentence, basedOn);
  const saveNew = useSaveNew(question, sentence);
  const canSave = canEdit && sentence !== null && !isBusy;
  useShortcuts([{ keys: "mod+s", run: () => canSave && void save(basedOn) }]);
  const asNew = () => {
    const { description, tags } = insight;
    const name = words.copyOf(nameOfInsight(insight));
    saveNew({ name, description, tags }, []).then(() => toast({ text: words.saved }), toastError);
  };
  return (
    <section
      data-save-bar
      aria-label={words.unsaved}
      className="sticky bottom-0 z-20 -mx-4 flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-t bg-panel px-4 py-3 shadow-float sm:mx-0 sm:rounded-t-lg sm:border-x"
    >
      <h2 className="min-w-0 grow basis-64">
        <strong className="font-semibold">{words.unsaved}</strong>
        <span className="ml-2 text-ink-3 text-sm">{words.keptHere}</span>
      </h2>
      <div className="flex flex-wrap items-center gap-2">
        <span className="hidden md:inline">
          <Keys keys="mod+s" />
        </span>
        <Button onClick={onDiscard}>{words.discard}</Button>
        <Button disabled={!canEdit || sentence === null} onClick={asNew}>
          {words.saveAsNew}
        </Button>
        <Button
          look="primary"
          isBusy={isBusy}
          disabled={!canEdit || sentence === null}
          title={canEdit ? undefined : words.viewerHint}
          onClick={() => void save(basedOn)}
        >
          {words.saveChanges}
        </Button>
      </div>
      {theirs !== null && (
        <ConflictDialog
          mine={sentence ?? ""}
          theirs={theirs}
          onKeepMine={() => void save(theirs.last_modified_at)}
          onKeepTheirs={() => {
            keepTheirs();
            onDiscard();
          }}
          onClose={close}
        />
      )}
    </section>
  );
}

/** Overwrites the insight's question, unless someone else has changed it in the meantime. */
function useSave(insight: Insight, question: Question, sentence: string | null, basedOn: string) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const navigate = route.useNavigate();
  const change = useInsightChange(insight.id);
  const kind = useKind(question.kind).data;
  const [theirs, setTheirs] = useState<Insight | null>(null);
  const save = async (expected: string): Promise<void> => {
    if (kind === undefined) return;
    const changes = {
      query: storedForm(kind, completed(question)),
      derived_name: sentence?.slice(0, DERIVED_MAX) ?? null,
      expected_modified_at: expected,
    };
    try {
      const changed = await change.mutateAsync(changes);
      noteStored(queries, changed, completed(question));
      setTheirs(null);
      toast({ text: words.saved });
      await navigate({ search: {}, resetScroll: false });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "conflict") {
        toastError(error);
        return;
      }
      await lookAgain(expected);
    }
  };
  /** Changes by others to anything but the question are not conflicts. */
  const lookAgain = async (expected: string) => {
    try {
      const current = await readInsight(projectId, insight.id);
      const isKnown = insight.last_modified_at === basedOn && expected === basedOn;
      const isSame = JSON.stringify(queryOf(current)) === JSON.stringify(queryOf(insight));
      if (isKnown && isSame) await save(current.last_modified_at);
      else setTheirs(current);
    } catch (error) {
      toastError(error);
    }
  };
  const keepTheirs = () => {
    if (theirs !== null) queries.setQueryData(insightKeys.one(projectId, insight.id), theirs);
    setTheirs(null);
  };
  return { save, isBusy: change.isPending, theirs, keepTheirs, close: () => setTheirs(null) };
}
