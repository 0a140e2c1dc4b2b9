import { Badge, Notice, type Tone } from "@/ui/Badge";
import { classes } from "@/ui/classes";
import { Disclosure } from "@/ui/Disclosure";
import { Time } from "@/ui/Time";
import { useTimes } from "@/ui/times";
import { words } from "@/words/guardedRelease";
import type { Release } from "./queries";
import { endText, holdText, isActive, progressText, reasonText, type State } from "./release";

const TONES: Readonly<Record<State, Tone>> = {
  running: "info",
  holding: "warn",
  paused: "warn",
  rolled_back: "bad",
  completed: "good",
  cancelled: "neutral",
};

/** Where a release is, what follows and why, and its steps. */
export function ReleaseState({ release }: { release: Release }) {
  const times = useTimes();
  const { state, created_by: by, checked_at: checked } = release;
  const reason = reasonText(release);
  const said = isActive(release) ? progressText(release, times.now, times.at) : endText(release);
  return (
    <div className="flex flex-col gap-2.5">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Badge tone={TONES[state]}>{words.states[state]}</Badge>
        <span className="font-medium">{said}</span>
        {by !== null && (
          <span className="text-ink-3 text-sm">
            <bdi>{words.by(by.first_name || by.email)}</bdi>
          </span>
        )}
      </p>
      {reason !== null && (
        <Notice tone={release.reason === "harmed" ? "bad" : "warn"}>{reason}</Notice>
      )}
      {isActive(release) && <Steps release={release} />}
      <p className="text-ink-2 text-sm">
        {checked === null ? (
          words.notChecked
        ) : (
          <>
            {words.checked} <Time at={checked} />
          </>
        )}
      </p>
    </div>
  );
}

function Steps({ release: { steps, step: current } }: { release: Release }) {
  const stateOf = (place: number) =>
    place < current ? words.passed : place === current ? words.current : words.upcoming;
  return (
    <ol aria-label={words.steps} className="flex flex-wrap gap-1.5">
      {steps.map((step, place) => (
        <li
          key={step.rollout_percentage}
          aria-current={place === current ? "step" : undefined}
          className={classes(
            "rounded-md border px-2 py-1 text-sm",
            place === current ? "border-accent bg-accent-soft text-accent-text" : "border-line",
            place < current && "text-ink-3",
          )}
        >
          {words.stepText(step.rollout_percentage, holdText(step.hold_minutes))}
          <span className="sr-only">, {stateOf(place)}</span>
        </li>
      ))}
    </ol>
  );
}

/** What the release has done so far, the newest first. */
export function ReleaseHistory({ release }: { release: Release }) {
  return (
    <Disclosure summary={words.history}>
      <ol className="flex flex-col gap-1 text-sm" aria-label={words.history}>
        {release.history.toReversed().map((act) => {
          const why = reasonText({ ...release, reason: act.reason ?? null });
          const share = act.rollout_percentage;
          return (
            <li key={`${act.at} ${act.state} ${act.step}`}>
              {words.historyEntry(words.states[act.state], act.step + 1, share)}{" "}
              <span className="text-ink-3">
                <Time at={act.at} />
              </span>
              {why !== null && <span className="block text-ink-2">{why}</span>}
            </li>
          );
        })}
      </ol>
    </Disclosure>
  );
}
