import { isObject } from "@/insights";
import { Visible } from "@/ui/properties";
import { words } from "@/words/experiments";
import type { ExperimentChanges } from "../queries";
import { variantsOf } from "../variants";
import { textOfMetric } from "./metric";

const WORDS = words.changed;

/** The changed fields of an experiment with their values, for those who choose between two. */
export function Changes({ changes }: { changes: ExperimentChanges }) {
  const names: Readonly<Record<string, string>> = words.fields;
  return (
    <dl className="flex flex-col gap-2">
      {Object.entries(changes).map(([name, value]) => (
        <div key={name}>
          <dt className="text-ink-2 text-sm">{names[name] ?? name}</dt>
          {linesOf(name, value).map((line) => (
            <dd key={line} className="min-w-0 break-words">
              <Visible text={line} />
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}

function linesOf(name: string, value: unknown): readonly string[] {
  if (value === null || value === undefined || value === "") return [WORDS.nothing];
  if (name === "parameters" && isObject(value)) return linesOfParameters(value);
  if (!Array.isArray(value)) return [textOf(value)];
  if (value.length === 0) return [WORDS.nothing];
  return value.map((one) => (isObject(one) ? (textOfMetric(one) ?? textOf(one)) : textOf(one)));
}

function linesOfParameters(parameters: Readonly<Record<string, unknown>>): readonly string[] {
  const variants = variantsOf({ parameters, feature_flag: null });
  const { minimum_detectable_effect: effect, rollout_percentage: rollout } = parameters;
  return [
    ...(variants.length > 0
      ? [variants.map(({ key, share }) => WORDS.share(key, share)).join(", ")]
      : []),
    ...(typeof rollout === "number" ? [WORDS.rollout(rollout)] : []),
    ...(typeof effect === "number" ? [WORDS.effect(effect)] : []),
  ];
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);
