import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useRef } from "react";
import { Annotated } from "@/annotations";
import { useProjectId } from "@/app/session";
import type { Threshold } from "@/charts";
import { SentenceParts } from "@/filters";
import { ActorsDrawer } from "@/insights/ActorsDrawer";
import { actorsOf } from "@/insights/actors";
import { type Answer, useAnswer } from "@/insights/answers";
import { KINDS, useKind } from "@/insights/kinds";
import type { Asked, Kind, Place } from "@/insights/kinds/kind";
import type { QuestionSearch } from "@/insights/question/address";
import { completed } from "@/insights/question/complete";
import type { Question } from "@/insights/question/model";
import { useNames } from "@/insights/question/names";
import { ProblemList } from "@/insights/question/ProblemList";
import { Reading } from "@/insights/question/reading";
import { asSentence } from "@/insights/question/sentence";
import { UnsavedActions } from "@/insights/saved/UnsavedActions";
import { useQuestion } from "@/insights/useQuestion";
import { ApiError } from "@/lib/errors";
import { Page } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { words } from "@/words/insightsBuilder";
import { Builder } from "./Builder";
import { KindTabs } from "./KindTabs";
import { OpenAsSql } from "./OpenAsSql";
import { QueryJson } from "./QueryJson";
import { Result } from "./Result";
import { ScopeBar } from "./ScopeBar";

const route = getRouteApi("/signed-in/project/$projectId/insights/new");
const OWN = ["behind"];

/** An unsaved question: its sentence, its builder and its answer. */
export default function InsightPage() {
  const { behind, ...search } = route.useSearch();
  const navigate = route.useNavigate();
  const write = useCallback(
    (next: QuestionSearch) => void navigate({ search: next, resetScroll: false }),
    [navigate],
  );
  const state = useQuestion({ ...search }, OWN, write);
  const projectId = useProjectId();
  const place = useMemo(() => ({ projectId }), [projectId]);
  const openBehind = (next: Place | undefined) =>
    void navigate({
      search: { ...search, ...(next !== undefined && { behind: next }) },
      resetScroll: false,
    });
  return (
    <Page title={words.title} actions={<UnsavedActions question={state.question} />}>
      <Annotated value={place}>
        <QuestionView state={state} behind={behind} onBehind={openBehind} />
      </Annotated>
    </Page>
  );
}

interface ViewProps {
  state: ReturnType<typeof useQuestion>;
  /** Levels to draw across the lines. */
  thresholds?: readonly Threshold[] | undefined;
  behind: Place | undefined;
  onBehind: (place: Place | undefined) => void;
}

/** A question of any kind with its answer. */
export function QuestionView({ state, ...shown }: ViewProps) {
  const kind = useKind(state.question.kind);
  return (
    <>
      <div className="flex min-w-0 flex-wrap items-end justify-between gap-2">
        <KindTabs
          kinds={KINDS}
          selected={state.question.kind}
          onSelect={(name) => state.setQuestion({ ...state.question, kind: name })}
        />
        {kind.data && (
          <div className="flex flex-wrap gap-2">
            <OpenAsSql query={kind.data.query(completed(state.question))} />
            <QueryJson
              query={kind.data.query(completed(state.question))}
              onOpen={state.setQuestion}
            />
          </div>
        )}
      </div>
      <Loaded query={kind} rows={8}>
        {(loaded) => <Screen kind={loaded} state={state} {...shown} />}
      </Loaded>
    </>
  );
}

interface ScreenProps extends ViewProps {
  kind: Kind;
}

function Screen({ kind, state, thresholds, behind, onBehind }: ScreenProps) {
  const { question, setQuestion } = state;
  const shown = useMemo(() => completed(question), [question]);
  const settled = useMemo(() => completed(state.settled), [state.settled]);
  const names = useNames(shown);
  const missing = kind.missing(settled);
  const isAskable = missing === null && settled.kind === kind.name;
  const answering = useAnswer(isAskable ? kind.query(settled) : null);
  const asked = useAsked(kind, settled, answering.answer);
  const errorAt = errorsOf(answering.error);
  const number = behind !== undefined && asked !== null ? kind.behind(asked, behind) : null;
  const fields = { question, onChange: setQuestion, errorAt };
  return (
    <>
      {kind.missing(shown) === null && (
        <p className="text-base" role="note" aria-label={words.sentence}>
          <SentenceParts parts={asSentence(kind.sentence(shown, names))} />
        </p>
      )}
      <Problems kind={kind} question={question} problems={state.problems} />
      <div className="grid min-w-0 gap-6 lg:grid-cols-[24rem_minmax(0,1fr)]">
        <section aria-label={words.question} className="min-w-0">
          <Builder kind={kind} names={names} {...fields} />
        </section>
        <section aria-label={words.result} className="flex min-w-0 flex-col gap-4">
          <ScopeBar kind={kind} {...fields} />
          <Result
            kind={kind}
            asked={asked}
            missing={missing}
            isErrorPlaced={isPlaced(answering.error)}
            state={answering}
            isOutdated={answering.isOutdated || state.settled !== question}
            thresholds={thresholds}
            onOpen={onBehind}
          />
        </section>
      </div>
      {number !== null && (
        <ActorsDrawer
          source={actorsOf(number.actors)}
          description={number.description}
          name={number.name}
          ofGroups={number.ofGroups ?? false}
          onClose={() => onBehind(undefined)}
        />
      )}
    </>
  );
}

/** The answer paired with its own question: the previous one while the next is loading. */
function useAsked(kind: Kind, question: Question, answer: Answer | undefined): Asked | null {
  const last = useRef<Asked | null>(null);
  if (answer === undefined) return null;
  const isOfThis = JSON.stringify(answer.query) === JSON.stringify(kind.query(question));
  if (isOfThis) last.current = { question, answer };
  return last.current?.question.kind === kind.name ? last.current : null;
}

/** The server's errors name a field by its path in the request. */
const errorsOf =
  (error: unknown) =>
  (attr: string): string | undefined => {
    if (!(error instanceof ApiError) || error.attr === null) return undefined;
    const place = error.attr.replace(/^query__/, "");
    // A list shows the errors of parts that have no field of their own.
    const isWithin = !attr.includes("__") && place.startsWith(`${attr}__`) && attr !== "series";
    return place === attr || isWithin ? error.detail : undefined;
  };

const PLACED =
  /^query__(series|properties|breakdownFilter|dateRange|interval|compareFilter|[a-z]+Filter)(__|$)/;

const isPlaced = (error: unknown): boolean =>
  error instanceof ApiError && error.attr !== null && PLACED.test(error.attr);

function Problems(props: { kind: Kind; question: Question; problems: readonly string[] }) {
  const reading = new Reading();
  props.kind.check(props.question, reading);
  const problems = [...props.problems, ...reading.problems];
  if (problems.length === 0) return null;
  return (
    <div role="status" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
      <p>{words.problems}</p>
      <ProblemList problems={problems} />
    </div>
  );
}
