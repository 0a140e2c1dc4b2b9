import { Button } from "@/ui/Button";
import { Select } from "@/ui/Select";
import { words } from "@/words/insightsPaths";
import { PART_TYPES, requiredSteps, stepsOf, type WithinFunnel } from "./within";

interface Props {
  within: WithinFunnel;
  onChange: (within: WithinFunnel | undefined) => void;
  error: string | undefined;
}

/** Which part of a funnel the paths lie in. */
export function WithinFields({ within, onChange, error }: Props) {
  const names = stepsOf(within.funnel);
  const isBetween = within.type === "funnel_path_between_steps";
  const places = requiredSteps(within.funnel);
  const second = (places[1] ?? 1) + 1;
  const reached = places.map((place) => ({
    value: String(place + 1),
    label: words.reachedStep(place + 1, names[place] ?? ""),
  }));
  const dropped = places.map((place) => ({
    value: String(-place - 1),
    label: words.droppedStep(place + 1, names[place] ?? ""),
  }));
  // Nothing lies before the first step, and no one drops out before it.
  const steps = isBetween ? reached.slice(1) : [...reached, ...dropped.slice(1)];
  const withType = (type: WithinFunnel["type"]): WithinFunnel =>
    type === "funnel_path_between_steps" && within.step < 2
      ? { ...within, type, step: Math.max(second, -within.step) }
      : { ...within, type };
  return (
    <fieldset className="flex min-w-0 flex-col items-start gap-1.5">
      <legend className="mb-1 font-medium">{words.within}</legend>
      <Select
        aria-label={words.withinType}
        value={within.type}
        options={PART_TYPES.filter(
          (type) => places.length > 1 || type !== "funnel_path_between_steps",
        ).map((value) => ({ value, label: words.withinTypes[value] }))}
        onChange={(type) => onChange(withType(type))}
      />
      <Select
        aria-label={words.withinStep}
        value={String(within.step)}
        options={steps}
        onChange={(step) => onChange({ ...within, step: Number(step) })}
      />
      {error && <p className="text-bad text-sm">{error}</p>}
      <Button small onClick={() => onChange(undefined)}>
        {words.leaveFunnel}
      </Button>
    </fieldset>
  );
}
