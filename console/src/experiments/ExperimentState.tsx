import { Badge, type Tone } from "@/ui/Badge";
import { words } from "@/words/experiments";
import type { ListedExperiment } from "./queries";

const TONES: Record<ListedExperiment["status"], Tone> = {
  draft: "neutral",
  running: "good",
  paused: "warn",
  stopped: "info",
};

export function ExperimentState({ experiment }: { experiment: ListedExperiment }) {
  return (
    <>
      <Badge tone={TONES[experiment.status]}>{words.states[experiment.status]}</Badge>
      {experiment.archived && <Badge>{words.archived}</Badge>}
    </>
  );
}
