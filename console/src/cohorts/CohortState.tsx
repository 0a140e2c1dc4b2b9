import { LoaderCircle } from "lucide-react";
import { Badge, type Tone } from "@/ui/Badge";
import { words } from "@/words/cohorts";
import type { Cohort } from "./queries";

export function stateOf(cohort: Cohort): { text: string; tone: Tone } {
  if (cohort.is_calculating) return { text: words.states.calculating, tone: "info" };
  if (cohort.errors_calculating > 0) {
    return { text: words.states.failed(cohort.errors_calculating), tone: "bad" };
  }
  return { text: words.states.ready, tone: "good" };
}

export function CohortState({ cohort }: { cohort: Cohort }) {
  const { text, tone } = stateOf(cohort);
  return (
    <Badge tone={tone}>
      {cohort.is_calculating && <LoaderCircle aria-hidden className="size-3.5 animate-spin" />}
      {text}
    </Badge>
  );
}
