import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { type ComponentType, useState } from "react";
import { useCanEdit, useMe } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { ApiError } from "@/lib/errors";
import { lazyPart } from "@/ui/lazyPart";
import { LINK, Page } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { Tabs } from "@/ui/Tabs";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/flagEditor";
import { draftName } from "./editor/drafts";
import { FlagHead, HeadActions, KeyHeading } from "./editor/FlagHead";
import { type OpenDialog, TargetingTab } from "./editor/TargetingTab";
import { useHeadChange } from "./editor/useHeadChange";
import { type Flag, readRules } from "./model";
import { useRuleNames } from "./names";
import { flagQuery } from "./queries";
import type { FlagTab } from "./search";
import type { Names } from "./sentence";
import { useFlagChanges } from "./useFlagChanges";

const route = getRouteApi("/signed-in/project/$projectId/flags/$flagId");

// Loaded when they are opened first.
const RolloutTab = lazyPart("flag rollout", async () => (await import("./RolloutTab")).RolloutTab);
const UsageTab = lazyPart("flag usage", async () => (await import("./tabs/UsageTab")).UsageTab);
const ActivityTab = lazyPart(
  "flag activity",
  async () => (await import("./tabs/ActivityTab")).ActivityTab,
);
const AccessTab = lazyPart("flag access", async () => (await import("./tabs/AccessTab")).AccessTab);

const OTHER_TABS: readonly (readonly [
  Exclude<FlagTab, "targeting">,
  ComponentType<{ flag: Flag }>,
])[] = [
  ["rollout", RolloutTab],
  ["usage", UsageTab],
  ["activity", ActivityTab],
  ["access", AccessTab],
];

export default function FlagPage() {
  const { projectId, flagId } = route.useParams();
  const query = useQuery(flagQuery(projectId, Number(flagId)));
  useFlagChanges(projectId);
  const flag = query.data;
  const { names, isPending } = useRuleNames(projectId, flag ? readRules(flag.filters) : null);
  // Wait for the names: a sentence that grows when they load would shift everything below it.
  const [named, setNamed] = useState<number>();
  if (flag !== undefined && !isPending && named !== flag.id) setNamed(flag.id);
  if (flag === undefined || named !== flag.id) {
    return (
      <Page
        title={words.back}
        heading={<span className="sr-only">{words.back}</span>}
        back={<Back />}
      >
        <Loaded query={{ ...query, data: undefined, error: explained(query.error) }}>
          {() => null}
        </Loaded>
      </Page>
    );
  }
  return <FlagScreen key={flag.id} flag={flag} names={names} />;
}

const explained = (error: unknown): unknown =>
  error instanceof ApiError && error.status === 404 ? new Error(words.notFound) : error;

function Back() {
  const { projectId } = route.useParams();
  return (
    <Link to="/project/$projectId/flags" params={{ projectId }} className={LINK}>
      {words.back}
    </Link>
  );
}

/** Makes a static cohort of the people for whom the flag is on, and opens it. */
function useCohortOf(flag: Flag) {
  const { projectId } = route.useParams();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () =>
      dataOf(
        api.POST("/api/projects/{project_id}/feature_flags/{id}/create_static_cohort_for_flag/", {
          params: { path: { project_id: projectId, id: flag.id } },
        }),
      ),
    onSuccess: async ({ cohort }) => {
      toast({ text: words.savedCohort });
      await navigate({
        to: "/project/$projectId/cohorts/$cohortId",
        params: { projectId, cohortId: String(cohort.id) },
      });
    },
    onError: toastError,
  });
}

function FlagScreen({ flag, names }: { flag: Flag; names: Names }) {
  const { projectId } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const isEditor = useCanEdit();
  const me = useMe();
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const canEdit = isEditor && flag.can_edit;
  const head = useHeadChange(projectId, flag);
  const go = (change: { tab?: FlagTab; try?: string }) => {
    // A page and a number belong to the tab that they are on.
    const { page: _, behind: __, ...kept } = search;
    void navigate({
      to: ".",
      search: { ...(change.tab === undefined ? search : kept), ...change },
      replace: change.try !== undefined,
      resetScroll: false,
    });
  };
  const saveCohort = useCohortOf(flag);
  const remove = () => {
    head.mutate({ change: { deleted: true }, said: words.removed(flag.key) });
    void navigate({ to: "/project/$projectId/flags", params: { projectId } });
  };
  return (
    <Page
      title={flag.key}
      heading={<KeyHeading flagKey={flag.key} />}
      back={<Back />}
      actions={
        <HeadActions
          flag={flag}
          canEdit={canEdit}
          onExperiment={() =>
            void navigate({
              to: "/project/$projectId/experiments/new",
              params: { projectId },
              search: { flag: flag.key },
            })
          }
          onJson={() => {
            go({ tab: "targeting" });
            setDialog("json");
          }}
          onCohort={() => saveCohort.mutate()}
          onRemove={remove}
        />
      }
    >
      {!canEdit && <p className="text-ink-2">{isEditor ? words.notEditable : words.viewer}</p>}
      <FlagHead projectId={projectId} flag={flag} names={names} canEdit={canEdit} />
      <Tabs
        label={words.tabList}
        selected={search.tab ?? "targeting"}
        onSelect={(next) => go({ tab: next })}
        tabs={[
          {
            id: "targeting",
            label: words.tabs.targeting,
            content: (
              <TargetingTab
                projectId={projectId}
                flag={flag}
                names={names}
                canEdit={canEdit && !flag.deleted}
                draftName={draftName(me.id, projectId, flag.id)}
                who={search.try ?? ""}
                onWho={(who) => go({ try: who })}
                dialog={dialog}
                onDialog={setDialog}
              />
            ),
          },
          ...OTHER_TABS.map(([id, Content]) => ({
            id,
            label: words.tabs[id],
            content: <Content flag={flag} />,
          })),
        ]}
      />
    </Page>
  );
}
