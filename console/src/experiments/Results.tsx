import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { Card } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { type Experiment, resultsQuery } from "./queries";

/** What an experiment has found so far. */
export function Results({ experiment }: { experiment: Experiment }) {
  const results = useQuery(resultsQuery(useProjectId(), experiment.id));
  return (
    <Card>
      <Loaded query={results}>
        {({ verdict }) => (
          <p className="text-lg">
            <Visible text={verdict.sentence} />
          </p>
        )}
      </Loaded>
    </Card>
  );
}
