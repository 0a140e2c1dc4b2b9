import { queryOptions, useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { useSettled } from "@/lib/hooks";
import { type Person, personQuery } from "@/persons";
import { LINK } from "@/ui/Page";
import { plainName, plainValue, SafeText, Visible } from "@/ui/properties";
import { ErrorNote, Skeleton } from "@/ui/States";
import { Time } from "@/ui/Time";
import { words } from "@/words/cohorts";
import { formatNumber } from "@/words/format";
import { type Cohort, previewQuery } from "../queries";
import { type Group, isCompleteGroup, kindOf, type Leaf, leavesOf, wireFilters } from "./model";

const WORDS = words.builder;
const SETTLED_MS = 400;
const VALUE_MAX = 80;
const EVENTS_MAX = 3;

interface Props {
  criteria: Group;
  /** The calculated cohort with these criteria; its members may differ from those who match now. */
  saved?: Cohort | undefined;
}

/** The number of persons who match now, and a sample with the values that make them match. */
export function Preview({ criteria, saved }: Props) {
  const settled = useSettled(criteria, SETTLED_MS);
  const isComplete = isCompleteGroup(settled);
  const preview = useQuery({
    ...previewQuery(useProjectId(), wireFilters(settled)),
    enabled: isComplete,
  });
  const isBusy = criteria !== settled || preview.isFetching;
  return (
    <section
      aria-label={WORDS.live}
      aria-busy={isComplete && isBusy}
      className="flex min-w-0 flex-col gap-3 rounded-lg border border-line bg-panel p-4"
    >
      <h2 className="font-semibold">{WORDS.live}</h2>
      {!isComplete && <p className="text-ink-2">{WORDS.incomplete}</p>}
      {isComplete && preview.isError && <ErrorNote error={preview.error} />}
      {isComplete && preview.isPending && <Skeleton rows={3} />}
      {isComplete && preview.data && !preview.isError && (
        <>
          <p role="status" className="font-semibold text-lg">
            {isBusy ? WORDS.counting : WORDS.matches(preview.data.count)}
          </p>
          {!isBusy && saved !== undefined && (
            <OtherCount cohort={saved} matching={preview.data.count} />
          )}
          <p className="text-ink-2">{preview.data.sentence}</p>
          <p className="text-ink-3 text-sm">
            {WORDS.cost(formatNumber(preview.data.rows_read), preview.data.seconds.toFixed(2))}
          </p>
          <Sample ids={preview.data.sample} leaves={leavesOf(settled)} />
        </>
      )}
    </section>
  );
}

/** Why the number of members differs from the number that matches now. */
function OtherCount({ cohort, matching }: { cohort: Cohort; matching: number }) {
  const { count, last_calculation: at, is_calculating: isCalculating } = cohort;
  if (count === null || at === null || isCalculating || count === matching) return null;
  return (
    <p className="text-ink-2">
      {WORDS.members(count)} <Time at={at} />
      {WORDS.untilThen}
    </p>
  );
}

function Sample({ ids, leaves }: { ids: readonly string[]; leaves: readonly Leaf[] }) {
  const projectId = useProjectId();
  const persons = useQueries({ queries: ids.map((id) => personQuery(projectId, id)) });
  if (ids.length === 0) return <p className="text-ink-2">{WORDS.noMatch}</p>;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <h3 className="font-medium text-ink-2">{WORDS.sample}</h3>
      <ul className="flex flex-col">
        {persons.map(({ data }, at) =>
          data === undefined ? (
            <li key={ids[at]} aria-busy className="h-6" />
          ) : (
            <li key={data.id} className="border-line border-b py-1.5 last:border-b-0">
              <Link
                to="/project/$projectId/persons/$personId"
                params={{ projectId, personId: data.id }}
                className={LINK}
              >
                <Visible text={data.name || data.id} />
              </Link>
              <Reasons person={data} leaves={leaves} />
            </li>
          ),
        )}
      </ul>
    </div>
  );
}

/** The values of a person in the conditions: properties, and when the events last happened. */
function Reasons({ person, leaves }: { person: Person; leaves: readonly Leaf[] }) {
  const keys = leaves.filter((leaf) => kindOf(leaf) === "person").map((leaf) => String(leaf.key));
  const events = leaves
    .filter((leaf) => leaf.type === "behavioral")
    .map((leaf) => String(leaf.key));
  return (
    <ul className="text-ink-2 text-sm">
      {[...new Set(keys)].map((key) => (
        <li key={key}>
          <Visible text={WORDS.because(plainName(key))} />{" "}
          {person.properties[key] === undefined ? (
            WORDS.missing
          ) : (
            <SafeText text={plainValue(person.properties[key])} length={VALUE_MAX} />
          )}
        </li>
      ))}
      {[...new Set(events)].slice(0, EVENTS_MAX).map((event) => (
        <LastDid key={event} personId={person.id} event={event} />
      ))}
    </ul>
  );
}

function LastDid({ personId, event }: { personId: string; event: string }) {
  const last = useQuery(lastEventQuery(useProjectId(), personId, event));
  return (
    <li>
      <Visible text={WORDS.because(plainName(event))} />{" "}
      {last.data === undefined ? null : last.data === null ? (
        WORDS.didNot
      ) : (
        <>
          {WORDS.lastDid} <Time at={last.data} />
        </>
      )}
    </li>
  );
}

/** Return when a person last did an event, or null if no such event is stored. */
const lastEventQuery = (projectId: string, personId: string, event: string) =>
  queryOptions({
    queryKey: ["events", projectId, "last", personId, event],
    queryFn: async ({ signal }) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/events/", {
          params: {
            path: { project_id: projectId },
            query: { person_id: personId, event, limit: "1" },
          },
          signal,
        }),
      );
      return page.results[0]?.timestamp ?? null;
    },
    staleTime: 60_000,
  });
