import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { colorsByValue } from "@/charts";
import { ActorsDrawer } from "@/insights";
import { Loaded } from "@/ui/States";
import type { Experiment } from "../queries";
import { phaseQuery } from "../resultQueries";
import { groupTypeOf, useUnit } from "../unit";
import { Exposures } from "./Exposures";
import { Metrics } from "./Metrics";
import { type OpenPeople, type Place, peopleBehind } from "./people";
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
  const groupType = groupTypeOf(experiment);
  const unit = useUnit(groupType);
  const [behind, setBehind] = useState<{ place: Place; description: string } | null>(null);
  const onOpen: OpenPeople = (place, description) =>
    setBehind({ place: { ...place, phase }, description });
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
              unit={unit}
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
                <Exposures
                  experiment={experiment}
                  results={results}
                  colors={colors}
                  unit={unit}
                  onOpen={onOpen}
                />
                <Metrics results={results} colors={colors} unit={unit} onOpen={onOpen} />
              </>
            )}
            {behind !== null && (
              <ActorsDrawer
                source={peopleBehind(experiment.id, behind.place)}
                description={behind.description}
                name={`${experiment.name}: ${behind.description}`}
                ofGroups={groupType !== null}
                onClose={() => setBehind(null)}
              />
            )}
          </div>
        );
      }}
    </Loaded>
  );
}
