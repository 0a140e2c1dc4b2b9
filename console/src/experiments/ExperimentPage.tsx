import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useProjectId } from "@/app/session";
import { lazyPart } from "@/ui/lazyPart";
import { LINK, Page } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { Tabs } from "@/ui/Tabs";
import { words } from "@/words/experiments";
import { daysOf } from "./days";
import { ExperimentActions } from "./ExperimentActions";
import { ExperimentState } from "./ExperimentState";
import { type Experiment, experimentQuery } from "./queries";
import { Results } from "./Results";

const route = getRouteApi("/signed-in/project/$projectId/experiments/$experimentId");

// Loaded with their tabs.
const Setup = lazyPart("experiment setup", async () => (await import("./Setup")).Setup);
const ExperimentActivity = lazyPart(
  "experiment activity",
  async () => (await import("./ExperimentActivity")).ExperimentActivity,
);

export default function ExperimentPage() {
  const projectId = useProjectId();
  const { experimentId } = route.useParams();
  const experiment = useQuery(experimentQuery(projectId, Number(experimentId)));
  const name = experiment.data?.name ?? words.one;
  return (
    <Page
      title={name}
      heading={<Visible text={name} />}
      description={experiment.data?.description && <Visible text={experiment.data.description} />}
      back={
        <Link to="/project/$projectId/experiments" params={{ projectId }} className={LINK}>
          {words.title}
        </Link>
      }
      actions={experiment.data && <ExperimentActions experiment={experiment.data} />}
    >
      <Loaded query={experiment} rows={6}>
        {(found) => (
          <>
            <Summary experiment={found} />
            <ExperimentTabs experiment={found} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Summary({ experiment }: { experiment: Experiment }) {
  const projectId = useProjectId();
  const { feature_flag: flag, feature_flag_key: key } = experiment;
  const days = daysOf(experiment);
  return (
    <div className="flex sm:-mt-2 min-w-0 flex-wrap items-center gap-x-4 gap-y-1 text-ink-2">
      <ExperimentState experiment={experiment} />
      <span className="min-w-0">
        {words.flag}{" "}
        {flag === null ? (
          <Visible text={key} />
        ) : (
          <Link
            to="/project/$projectId/flags/$flagId"
            params={{ projectId, flagId: String(flag.id) }}
            className={LINK}
          >
            <Visible text={flag.key} />
          </Link>
        )}
      </span>
      {days !== null && (
        <span>{experiment.end_date ? words.ranFor(days) : words.runsFor(days)}</span>
      )}
    </div>
  );
}

function ExperimentTabs({ experiment }: { experiment: Experiment }) {
  const { tab } = route.useSearch();
  const navigate = route.useNavigate();
  const first = experiment.status === "draft" ? "setup" : "results";
  return (
    <Tabs
      label={words.tabs.label}
      tabs={[
        {
          id: "results",
          label: words.tabs.results,
          content: <Results experiment={experiment} />,
        },
        { id: "setup", label: words.tabs.setup, content: <Setup experiment={experiment} /> },
        {
          id: "activity",
          label: words.tabs.activity,
          content: <ExperimentActivity experiment={experiment} />,
        },
      ]}
      selected={tab ?? first}
      onSelect={(id) => void navigate({ search: id === first ? {} : { tab: id } })}
    />
  );
}
