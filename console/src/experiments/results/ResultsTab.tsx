import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useProjectId } from "@/app/session";
import { colorsByValue } from "@/charts";
import { Loaded } from "@/ui/States";
import type { Experiment } from "../queries";
import { phaseQuery } from "../resultQueries";
import { Exposures } from "./Exposures";
import { Metrics } from "./Metrics";
import { Verdict } from "./Verdict";

const route = getRouteApi("/signed-in/project/$projectId/experiments/$experimentId");

/** What an experiment has found so far: the verdict, who takes part, and each metric. */
export function ResultsTab({ experiment }: { experiment: Experiment }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const phase =
    search.phase !== undefined && search.phase < experiment.phases.length
      ? search.phase
      : undefined;
  const query = useQuery(phaseQuery(useProjectId(), experiment.id, phase));
  return (
    <Loaded query={query} rows={8}>
      {(results) => {
        const colors = colorsByValue(Object.keys(results.exposures.variants));
        return (
          <div className="flex flex-col gap-4">
            <Verdict
              experiment={experiment}
              results={results}
              phase={phase}
              onPhase={(chosen) =>
                void navigate({
                  search: ({ phase: _, ...kept }) =>
                    chosen === undefined ? kept : { ...kept, phase: chosen },
                  resetScroll: false,
                })
              }
            />
            {results.status !== "draft" && (
              <>
                <Exposures experiment={experiment} results={results} colors={colors} />
                <Metrics results={results} colors={colors} />
              </>
            )}
          </div>
        );
      }}
    </Loaded>
  );
}
