import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useProjectId } from "@/app/session";
import { Badge, Notice } from "@/ui/Badge";
import { lazyPart } from "@/ui/lazyPart";
import { LINK, Page } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { type Tab, Tabs } from "@/ui/Tabs";
import { Time } from "@/ui/Time";
import { words } from "@/words/cohorts";
import { CohortActions } from "./CohortActions";
import { CohortMembers } from "./CohortMembers";
import { CohortUsage } from "./CohortUsage";
import { CohortState } from "./columns";
import { type Cohort, cohortQuery } from "./queries";
import type { CohortTab } from "./search";

// Loaded with their tabs.
const CriteriaTab = lazyPart(
  "cohort criteria",
  async () => (await import("./CriteriaTab")).CriteriaTab,
);
const CohortExplanation = lazyPart(
  "cohort explanation",
  async () => (await import("./CohortExplanation")).CohortExplanation,
);
const CohortHistory = lazyPart(
  "cohort history",
  async () => (await import("./CohortHistory")).CohortHistory,
);
const CohortActivity = lazyPart(
  "cohort activity",
  async () => (await import("./CohortActivity")).CohortActivity,
);

const route = getRouteApi("/signed-in/project/$projectId/cohorts/$cohortId");

export default function CohortPage() {
  const projectId = useProjectId();
  const { cohortId } = route.useParams();
  const cohort = useQuery(cohortQuery(projectId, Number(cohortId)));
  const name = cohort.data ? cohort.data.name || words.untitled : words.cohortTitle;
  return (
    <Page
      title={name}
      heading={<Visible text={name} />}
      description={cohort.data?.description && <Visible text={cohort.data.description} />}
      back={
        <Link to="/project/$projectId/cohorts" params={{ projectId }} className={LINK}>
          {words.title}
        </Link>
      }
      actions={cohort.data && <CohortActions cohort={cohort.data} />}
    >
      <Loaded query={cohort} rows={6}>
        {(found) => (
          <>
            <Summary cohort={found} />
            <CohortTabs cohort={found} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Summary({ cohort }: { cohort: Cohort }) {
  const { count, errors_calculating: errors, last_error_message: problem } = cohort;
  return (
    <>
      <div className="flex sm:-mt-2 min-w-0 flex-wrap items-center gap-x-4 gap-y-1 text-ink-2">
        <Badge>{cohort.is_static ? words.kinds.static : words.kinds.dynamic}</Badge>
        <strong className="text-ink">
          {count === null ? words.notCounted : words.persons(count)}
        </strong>
        <CohortState cohort={cohort} />
        <span>
          {words.calculatedAt} <Time at={cohort.last_calculation} />
        </span>
        <NextCalculation cohort={cohort} />
      </div>
      {cohort.deleted && <Notice tone="warn">{words.deleted}</Notice>}
      {errors > 0 && (
        <Notice tone="bad">
          <strong>{words.failedTitle}</strong>
          {problem && (
            <p>
              <Visible text={problem} />
            </p>
          )}
        </Notice>
      )}
    </>
  );
}

/** When the members are next calculated. Until then the criteria may match other persons. */
function NextCalculation({ cohort }: { cohort: Cohort }) {
  const { next_calculation: next, is_static, is_calculating, deleted } = cohort;
  if (is_static || is_calculating || deleted) return null;
  if (next === null) return <span>{words.notAgain}</span>;
  return (
    <span>
      {words.nextAt} <Time at={next} />
    </span>
  );
}

function CohortTabs({ cohort }: { cohort: Cohort }) {
  const { tab = "members" } = route.useSearch();
  const navigate = route.useNavigate();
  const label = words.tabs;
  const content: Record<CohortTab, Tab<CohortTab>["content"]> = {
    members: <CohortMembers cohort={cohort} />,
    criteria: <CriteriaTab cohort={cohort} />,
    explain: <CohortExplanation cohort={cohort} />,
    history: <CohortHistory cohort={cohort} />,
    usage: <CohortUsage cohort={cohort} />,
    activity: <CohortActivity cohort={cohort} />,
  };
  const ids: readonly CohortTab[] = [
    "members",
    "criteria",
    "explain",
    "history",
    "usage",
    "activity",
  ];
  return (
    <Tabs
      label={label.label}
      tabs={ids.map((id) => ({ id, label: label[id], content: content[id] }))}
      selected={tab}
      onSelect={(id) => void navigate({ search: id === "members" ? {} : { tab: id } })}
    />
  );
}
