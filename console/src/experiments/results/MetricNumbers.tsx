import { NumbersTable } from "@/charts";
import { words } from "@/words/experimentResults";
import { capitalized, type Unit } from "@/words/format";
import type { MetricResult, Results, VariantResult } from "../resultQueries";
import { changeText, rangeText, valueText } from "./intervals";
import type { OpenPeople } from "./people";

const { columns, none } = words;

interface Props {
  metric: MetricResult;
  results: Results;
  name: string;
  unit: Unit;
  onOpen: OpenPeople;
}

// The columns of the table whose numbers open who is behind them.
const COUNTED = 1;
const CONVERTED = 2;

/** The numbers behind the intervals of a metric, and how they were calculated. */
export function MetricNumbers({ metric, results, name, unit, onOpen }: Props) {
  const { method } = results;
  const isBayesian = method.name === "bayesian";
  const variants = metric.variants ?? [];
  const { baseline, metric_type: type } = metric;
  if (!baseline) return null;
  const isBinary = type === "funnel" || type === "retention";
  const arms = [baseline, ...variants];
  const { uuid } = metric;
  const open = (row: number, column: number) => {
    const key = arms[row]?.key;
    if (key === undefined || !uuid) return;
    const isConverted = column === CONVERTED && isBinary;
    onOpen(
      { variant: key, metric: uuid, ...(isConverted && { converted: true }) },
      isConverted ? words.behindConverted(unit, key, name) : words.behindCounted(unit, key, name),
    );
  };
  const chanceOf = (variant: VariantResult) =>
    isBayesian ? percentOf(variant.chance_to_win) : numberOf(variant.p_value);
  return (
    <div className="flex flex-col gap-1.5">
      <NumbersTable
        caption={words.numbersOf(name)}
        data={{
          columns: [
            columns.variant,
            capitalized(unit.many),
            ...(isBinary ? [columns.converted] : []),
            columns.value,
            columns.difference,
            columns.lift,
            columns.interval,
            isBayesian ? columns.chance : columns.p,
          ],
          rows: [
            [
              baseline.key,
              baseline.number_of_samples,
              ...(isBinary ? [baseline.sum] : []),
              valueText(baseline.mean, type),
              none,
              none,
              none,
              none,
            ],
            ...variants.map((variant) => [
              variant.key,
              variant.number_of_samples,
              ...(isBinary ? [variant.sum] : []),
              valueText(variant.mean, type),
              numberOf(variant.difference.estimate),
              changeText(variant) ?? none,
              rangeText(variant),
              chanceOf(variant),
            ]),
          ],
        }}
        onOpen={uuid ? open : undefined}
        canOpenColumn={(column) => column === COUNTED || (isBinary && column === CONVERTED)}
      />
      <p className="text-ink-3 text-sm">
        {words.methods[method.name](words.percent(1 - method.alpha))}
      </p>
      {variants.map((variant) => (
        <Further key={variant.key} variant={variant} />
      ))}
    </div>
  );
}

const numberOf = (value: number | null | undefined): string =>
  value === null || value === undefined ? none : words.short(value);
const percentOf = (value: number | null | undefined): string =>
  value === null || value === undefined ? none : words.percent(value);

/** What only guardrails and adjusted metrics have. */
function Further({ variant: { harm, unadjusted } }: { variant: VariantResult }) {
  return (
    <>
      {harm && harm.estimate !== null && (
        <p className="text-ink-3 text-sm">
          {words.harm(
            words.short(harm.estimate),
            harm.lower === null ? null : words.short(harm.lower),
          )}
        </p>
      )}
      {unadjusted && (
        <p className="text-ink-3 text-sm">
          {words.unadjusted(changeText(unadjusted) ?? none, rangeText(unadjusted))}
        </p>
      )}
    </>
  );
}
