import { Badge, type Tone } from "@/ui/Badge";
import { words } from "@/words/guardedRelease";
import { HarmChart } from "./HarmChart";
import type { Release } from "./queries";
import { type Guardrail, guardrailsOf, harmText, type Outcome } from "./release";

const TONES: Readonly<Record<Outcome, Tone>> = {
  harmed: "bad",
  safe: "good",
  not_harmed_so_far: "neutral",
  none: "neutral",
};

/** The metrics of a release, each with what its last check found. */
export function Guardrails({ release }: { release: Release }) {
  return (
    <section aria-label={words.guardrails}>
      <h3 className="font-medium">{words.guardrails}</h3>
      <ul className="flex flex-col">
        {guardrailsOf(release).map((guardrail) => (
          <Row key={guardrail.id} guardrail={guardrail} />
        ))}
      </ul>
    </section>
  );
}

function Row({ guardrail }: { guardrail: Guardrail }) {
  const { name, limit, outcome } = guardrail;
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-1 border-line border-b py-2.5 last:border-b-0 last:pb-0">
      <div className="min-w-0 flex-1 basis-72">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <bdi className="min-w-0 break-words font-medium">{name}</bdi>
          <span className="text-ink-2">{limit}</span>
          <Badge tone={TONES[outcome]}>{words.outcomes[outcome]}</Badge>
        </p>
        <p className="text-ink-2 text-sm">{harmText(guardrail)}</p>
      </div>
      <HarmChart guardrail={guardrail} />
    </li>
  );
}
