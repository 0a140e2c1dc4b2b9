import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { useCanEdit, useMe } from "@/app/session";
import { errorOf } from "@/lib/errors";
import { useShortcuts } from "@/lib/shortcuts";
import { Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Card, LINK, Page } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { useTimes } from "@/ui/times";
import { words } from "@/words/flagEditor";
import { draftName, dropDraft, keepDraft, readDraft } from "./editor/drafts";
import { changesOf, type Fields, newFields, suggestedKey } from "./editor/fields";
import { JsonDialog } from "./editor/JsonDialog";
import { problemsOf, useFieldProblems } from "./editor/problems";
import { RulesForm } from "./editor/RulesForm";
import { Problems } from "./editor/SaveBar";
import { TryIt } from "./editor/TryIt";
import { useReach } from "./editor/useReach";
import { isSame, readRules, releasedToAll, writeRules } from "./model";
import { useRuleNames } from "./names";
import { createFlag, filtersToSend, flagKeys } from "./queries";
import { Sentence } from "./Sentence";
import { flagParts } from "./sentence";

const route = getRouteApi("/signed-in/project/$projectId/flags/new");
const EMPTY = newFields(releasedToAll);

export default function NewFlagPage() {
  const { projectId } = route.useParams();
  const canEdit = useCanEdit();
  const form = useNewFlag(projectId);
  const { fields, rules, name } = form;
  const { names } = useRuleNames(projectId, rules);
  const [isJson, setJson] = useState(false);
  const [fieldProblems, onProblem] = useFieldProblems();
  const [hasTried, setTried] = useState(false);
  const [who, setWho] = useState("");
  const tryInput = useRef<HTMLInputElement>(null);
  const reach = useReach(projectId, null, rules);
  const problems = problemsOf(fields, rules, fieldProblems, null);
  const create = useCreate(projectId, form);
  const isReady = problems.length === 0;
  const unsaved = useMemo(
    () =>
      isReady
        ? { key: fields.key, ...changesOf(EMPTY, fields), filters: filtersToSend(fields.filters) }
        : null,
    [isReady, fields],
  );
  useShortcuts([
    { keys: ".", label: words.json, group: "do", run: () => setJson(true) },
    { keys: "t", label: words.tryIt, group: "do", run: () => tryInput.current?.focus() },
  ]);
  const submit = (active: boolean) => {
    setTried(true);
    if (isReady) create.mutate(active);
  };
  // The error of a field stands beside it.
  const isOfField = ["name", "key"].some((attr) => errorOf(create.error, attr) !== undefined);
  const times = useTimes();
  return (
    <Page
      title={words.newTitle}
      description={words.newHint}
      back={
        <Link to="/project/$projectId/flags" params={{ projectId }} className={LINK}>
          {words.back}
        </Link>
      }
    >
      {!canEdit && <p className="text-ink-2">{words.viewer}</p>}
      {form.keptAt !== null && (
        <Notice>
          <span className="mr-3">{words.keptSince(times.at(form.keptAt))}</span>
          <Button small onClick={form.startAgain}>
            {words.startAgain}
          </Button>
        </Notice>
      )}
      <Card>
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            autoFocus
            label={words.flagName}
            hint={words.flagNameHint}
            error={errorOf(create.error, "name")}
            value={name}
            disabled={!canEdit}
            onChange={(event) => form.setName(event.target.value)}
          />
          <TextField
            label={words.flagKey}
            hint={words.flagKeyHint}
            error={errorOf(create.error, "key")}
            value={fields.key}
            disabled={!canEdit}
            spellCheck={false}
            onChange={(event) => form.setKey(event.target.value)}
          />
        </div>
        {rules !== null && (
          <p className="mt-3 text-lg">
            <Sentence parts={flagParts(rules, fields, names)} />
          </p>
        )}
      </Card>
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <RulesForm
          rules={rules}
          fields={fields}
          reach={reach}
          names={names}
          error={create.error ?? reach.error}
          savedKey={null}
          canEdit={canEdit}
          showProblems={hasTried}
          onRules={(next) => form.setFields({ ...fields, filters: writeRules(next) }, next)}
          onFields={(change) => form.setFields({ ...fields, ...change })}
          onProblem={onProblem}
          onJson={() => setJson(true)}
        />
        <div className="lg:sticky lg:top-16 lg:max-h-[calc(100dvh-10rem)] lg:overflow-y-auto">
          <TryIt
            projectId={projectId}
            who={who}
            onWho={setWho}
            unsaved={unsaved}
            isDirty
            rules={rules}
            savedRules={null}
            names={names}
            isByDevice={fields.bucketing_identifier === "device_id"}
            inputRef={tryInput}
          />
        </div>
      </div>
      <div
        data-save-bar
        className="sticky bottom-0 z-20 -mx-4 flex flex-wrap items-center justify-end gap-3 border-line border-t bg-panel px-4 py-3 sm:mx-0 sm:rounded-t-lg sm:border-x"
      >
        <div className="min-w-0 grow" aria-live="polite">
          {hasTried && !isReady && <Problems problems={problems} />}
          {create.error && !isOfField ? <ErrorNote error={create.error} /> : null}
        </div>
        <Button disabled={!canEdit} isBusy={create.isPending} onClick={() => submit(true)}>
          {words.createOn}
        </Button>
        <Button
          look="primary"
          disabled={!canEdit}
          isBusy={create.isPending}
          onClick={() => submit(false)}
        >
          {words.create}
        </Button>
      </div>
      {isJson && (
        <JsonDialog
          projectId={projectId}
          flagId={null}
          fields={fields}
          canEdit={canEdit}
          onApply={(next) => form.setFields(next)}
          onClose={() => setJson(false)}
        />
      )}
    </Page>
  );
}

/** The draft of a new flag, stored in this browser until the flag is created. */
function useNewFlag(projectId: string) {
  const store = draftName(useMe().id, projectId, "new");
  const [state, setState] = useState(() => {
    const kept = readDraft(store);
    const fields = kept?.fields ?? EMPTY;
    return {
      fields,
      rules: readRules(fields.filters),
      name: kept?.name ?? "",
      isOwnKey: kept !== null && kept.fields.key !== suggestedKey(kept.name ?? ""),
      keptAt: kept?.keptAt ?? null,
    };
  });
  const { fields, name } = state;
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    const isEmpty = isSame(fields, EMPTY) && name === "";
    if (isEmpty || isDone) dropDraft(store);
    else keepDraft(store, { base: EMPTY, version: 0, fields, name });
  }, [store, fields, name, isDone]);
  return {
    ...state,
    setName: (text: string) =>
      setState({
        ...state,
        name: text,
        fields: state.isOwnKey ? fields : { ...fields, key: suggestedKey(text) },
      }),
    setKey: (key: string) =>
      setState({ ...state, fields: { ...fields, key }, isOwnKey: key !== "" }),
    setFields: (next: Fields, rules = readRules(next.filters)) =>
      setState({ ...state, fields: next, rules }),
    startAgain: () =>
      setState({
        fields: EMPTY,
        rules: readRules(EMPTY.filters),
        name: "",
        isOwnKey: false,
        keptAt: null,
      }),
    done: () => setDone(true),
  };
}

function useCreate(projectId: string, form: ReturnType<typeof useNewFlag>) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (active: boolean) => {
      const { fields, name } = form;
      return createFlag(projectId, {
        ...changesOf(EMPTY, fields),
        key: fields.key,
        name,
        active,
        filters: filtersToSend(fields.filters),
        deleted: false,
        has_enriched_analytics: false,
        ensure_experience_continuity: fields.ensure_experience_continuity,
      });
    },
    onSuccess: async (flag) => {
      form.done();
      queries.setQueryData(flagKeys.one(projectId, flag.id), flag);
      toast({ text: words.created(flag.key) });
      await navigate({
        to: "/project/$projectId/flags/$flagId",
        params: { projectId, flagId: String(flag.id) },
      });
      await queries.invalidateQueries({
        queryKey: flagKeys.all(projectId),
        predicate: (query) => query.queryKey[2] !== "one",
      });
    },
  });
}
