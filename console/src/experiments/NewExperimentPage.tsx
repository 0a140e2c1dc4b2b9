import { useMutation } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { suggestedKey } from "@/flags";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { LINK, Page } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/experiments";
import { createExperiment, type NewExperiment, takeStep, useExperimentsRefresh } from "./queries";
import { FlagField, useVariantsOf } from "./setup/FlagField";
import { bodyOf, type Fields, isSaved, newFields } from "./setup/fields";
import { usePlan } from "./setup/PlanCard";
import { isPlaced } from "./setup/placed";
import { withPlan } from "./setup/plan";
import { SetupForm } from "./setup/SetupForm";

const route = getRouteApi("/signed-in/project/$projectId/experiments/new");

export default function NewExperimentPage() {
  const projectId = useProjectId();
  const { flag = "" } = route.useSearch();
  const canEdit = useCanEdit();
  const [typed, setFields] = useState<Fields>(() => newFields(flag, flag));
  const [isOwnKey, setOwnKey] = useState(flag !== "");
  const ofFlag = useVariantsOf(typed.flagKey);
  const fields = ofFlag === undefined ? typed : { ...typed, variants: ofFlag, rollout: null };
  const planning = usePlan(fields);
  const create = useCreate(projectId);
  const change = (next: Fields) =>
    setFields({
      ...next,
      // Those of an existing flag are not kept for another one.
      variants: ofFlag === undefined ? next.variants : typed.variants,
      rollout: ofFlag === undefined ? next.rollout : typed.rollout,
      flagKey: isOwnKey || next.name === typed.name ? next.flagKey : suggestedKey(next.name),
    });
  const [isMissing, setMissing] = useState(false);
  const send = (launch: boolean) => {
    const body = newBody(fields, planning.plan, ofFlag !== undefined);
    const decides = (body.metrics?.length ?? 0) + fields.metrics.primary.filter(isSaved).length > 0;
    setMissing(launch && !decides);
    if (!launch || decides) create.mutate({ body, launch });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send(false);
  };
  const isOfFlag = ofFlag !== undefined || errorOf(create.error, "parameters") === undefined;
  return (
    <Page
      title={words.newTitle}
      description={words.emptyHint}
      back={
        <Link to="/project/$projectId/experiments" params={{ projectId }} className={LINK}>
          {words.title}
        </Link>
      }
    >
      {!canEdit && <p className="text-ink-2">{words.viewerHint}</p>}
      <form onSubmit={submit} className="flex min-w-0 flex-col gap-4">
        <SetupForm
          fields={fields}
          onChange={change}
          flagField={
            <FlagField
              value={fields.flagKey}
              disabled={!canEdit}
              error={
                errorOf(create.error, "feature_flag_key") ??
                (isOfFlag ? errorOf(create.error, "parameters") : undefined)
              }
              onChange={(flagKey) => {
                setOwnKey(flagKey !== "");
                setFields({ ...typed, flagKey });
              }}
            />
          }
          planning={planning}
          isSplitOfFlag={ofFlag !== undefined}
          isLaunched={false}
          isReadOnly={!canEdit}
          error={create.error}
        />
        <div
          data-save-bar
          className="sticky bottom-0 z-20 -mx-4 flex flex-wrap items-center justify-end gap-3 border-line border-t bg-panel px-4 py-3 sm:mx-0 sm:rounded-t-lg sm:border-x"
        >
          <div className="min-w-0 grow" aria-live="polite">
            {isMissing && <ErrorNote error={new Error(words.noPrimary)} />}
            {!isMissing && create.error && !isPlaced(create.error, fields) ? (
              <ErrorNote error={create.error} />
            ) : null}
          </div>
          <Button type="submit" disabled={!canEdit} isBusy={create.isPending}>
            {words.saveDraft}
          </Button>
          <Button
            look="primary"
            disabled={!canEdit}
            isBusy={create.isPending}
            onClick={() => send(true)}
          >
            {words.launch}
          </Button>
        </div>
      </form>
    </Page>
  );
}

/** An existing flag has its own split. */
function newBody(
  fields: Fields,
  plan: ReturnType<typeof usePlan>["plan"],
  hasFlag: boolean,
): NewExperiment {
  const { parameters, ...body } = bodyOf(fields);
  const {
    feature_flag_variants: _,
    rollout_percentage: __,
    ...planned
  } = withPlan(parameters ?? {}, plan, fields.rollout);
  return {
    ...body,
    name: fields.name.trim(),
    feature_flag_key: fields.flagKey.trim(),
    parameters: hasFlag ? planned : withPlan(parameters ?? {}, plan, fields.rollout),
  };
}

/** A launch that fails leaves the draft. */
function useCreate(projectId: string) {
  const navigate = route.useNavigate();
  const refresh = useExperimentsRefresh();
  return useMutation({
    mutationFn: async ({ body, launch }: { body: NewExperiment; launch: boolean }) => {
      const made = await createExperiment(projectId, body);
      if (!launch) return made;
      return takeStep(projectId, made.id, "launch").catch((error: unknown) => {
        toastError(error);
        return made;
      });
    },
    onSuccess: async (made) => {
      toast({ text: made.start_date ? words.launched(made.name) : words.created(made.name) });
      await refresh(made);
      await navigate({
        to: "/project/$projectId/experiments/$experimentId",
        params: { projectId, experimentId: String(made.id) },
      });
    },
  });
}
