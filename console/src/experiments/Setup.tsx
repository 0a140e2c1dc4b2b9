import { Card, Facts } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { words } from "@/words/experiments";
import { formatShare } from "@/words/format";
import type { Experiment } from "./queries";
import { variantsOf } from "./variants";

/** How an experiment is set up: its variants and metrics. */
export function Setup({ experiment }: { experiment: Experiment }) {
  return (
    <Card title={words.variants}>
      <Facts
        facts={variantsOf(experiment).map(({ key, share }) => [
          <Visible key={key} text={key} />,
          formatShare(share),
          key,
        ])}
      />
    </Card>
  );
}
