import { useNavigate } from "@tanstack/react-router";
import { Users } from "lucide-react";
import { useCanEdit, useProject, useProjectId } from "@/app/session";
import type { SeriesColor } from "@/charts";
import { DailyChart } from "@/insights";
import { Notice } from "@/ui/Badge";
import { Button, LinkButton } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/experimentResults";
import { words as pageWords } from "@/words/experiments";
import { capitalized, formatNumber, type Unit } from "@/words/format";
import type { Experiment } from "../queries";
import { type Exposures as Found, type Results, useExposureCohort } from "../resultQueries";
import { groupTypeOf } from "../unit";
import type { OpenPeople } from "./people";

const TEXTS = words.exposures;
export type Colors = ReadonlyMap<string, SeriesColor>;

interface Props {
  experiment: Experiment;
  results: Results;
  colors: Colors;
  unit: Unit;
  onOpen: OpenPeople;
}

/** Who takes part: by day and variant, with the check of the split and who was left out. */
export function Exposures({ experiment, results, colors, unit, onOpen }: Props) {
  const { exposures, end } = { ...results, end: results.to ?? null };
  const zone = useProject()?.timezone ?? "UTC";
  const keys = Object.keys(exposures.variants);
  return (
    <Card
      title={TEXTS.title(unit)}
      description={TEXTS.hint}
      actions={groupTypeOf(experiment) === null && <Cohort experiment={experiment} />}
    >
      {exposures.days.length === 0 ? (
        <p className="text-ink-2">{TEXTS.none}</p>
      ) : (
        <div className="grid gap-x-8 gap-y-4 lg:grid-cols-[3fr_2fr]">
          <DailyChart
            what={TEXTS.perDay(unit)}
            days={exposures.days}
            zone={zone}
            isPartial={end === null}
            series={keys.map((key) => ({
              name: key,
              values: exposures.by_day[key] ?? exposures.days.map(() => 0),
              ...colorOf(colors, key),
            }))}
            fileName={experiment.name}
            height={200}
          />
          <div className="flex min-w-0 flex-col gap-4">
            <Arms results={results} colors={colors} unit={unit} onOpen={onOpen} />
            <Split exposures={exposures} unit={unit} />
            <Left experiment={experiment} exposures={exposures} unit={unit} onOpen={onOpen} />
          </div>
        </div>
      )}
    </Card>
  );
}

export function colorOf(colors: Colors, key: string): { color?: SeriesColor } {
  const color = colors.get(key);
  return color === undefined ? {} : { color };
}

function Arms({ results, colors, unit, onOpen }: Omit<Props, "experiment">) {
  const { variants, total, split } = results.exposures;
  const whole = Object.values(split.expected).reduce((sum, one) => sum + one, 0);
  const { columns } = TEXTS;
  return (
    <table className="w-full" aria-label={TEXTS.table}>
      <thead>
        <tr className="border-line border-b text-ink-2 text-sm">
          <th className="py-1 text-start font-medium">{columns.variant}</th>
          <th className="py-1 text-end font-medium">{capitalized(unit.many)}</th>
          <th className="py-1 text-end font-medium">{columns.share}</th>
          <th className="py-1 text-end font-medium">{columns.set}</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(variants).map(([key, count]) => (
          <tr key={key} className="border-line border-b">
            <th scope="row" className="max-w-40 py-1 text-start font-normal">
              <Arm name={key} colors={colors} />
            </th>
            <td className="py-1 text-end tabular-nums">
              {count > 0 ? (
                <OpenButton
                  label={TEXTS.open(unit, key, formatNumber(count))}
                  onOpen={() => onOpen({ variant: key }, TEXTS.behind(unit, key))}
                >
                  {formatNumber(count)}
                </OpenButton>
              ) : (
                formatNumber(count)
              )}
            </td>
            <td className="py-1 text-end tabular-nums">{words.percent(shareOf(count, total))}</td>
            <td className="py-1 text-end text-ink-2 tabular-nums">
              {key in split.expected && whole > 0
                ? words.percent(shareOf(split.expected[key] ?? 0, whole))
                : words.none}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const shareOf = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

/** The name of a variant with its colour. */
export function Arm({ name, colors }: { name: string; colors: Colors }) {
  return (
    <span className="inline-flex max-w-full items-center gap-1.5">
      <span
        aria-hidden
        className="size-2.5 shrink-0 rounded-sm"
        style={{ background: `var(--series-${colors.get(name) ?? 8})` }}
      />
      <bdi className="min-w-0 break-words">
        <Visible text={name} />
      </bdi>
    </span>
  );
}

function Split({ exposures: { split }, unit }: { exposures: Found; unit: Unit }) {
  const { early, fine, small, bad } = TEXTS.split;
  const text =
    split.p_value === null ? early(unit) : !split.mismatch ? fine : split.small ? small : bad(unit);
  return (
    <section aria-label={TEXTS.splitTitle}>
      <h3 className="font-medium">{TEXTS.splitTitle}</h3>
      {split.mismatch ? (
        <Notice tone={split.small ? "warn" : "bad"}>{text}</Notice>
      ) : (
        <p className="text-ink-2">{text}</p>
      )}
    </section>
  );
}

interface LeftProps {
  experiment: Experiment;
  exposures: Found;
  unit: Unit;
  onOpen: OpenPeople;
}

/** Who was not counted, and why. */
function Left({ experiment, exposures, unit, onOpen }: LeftProps) {
  const { multiple, holdout, earlier_phases: earlier, without_variant: without } = exposures;
  const criteria = experiment.exposure_criteria;
  const isFirst = criteria?.multiple_variant_handling === "first_seen";
  const reasons = [
    { variant: "$multiple", count: multiple, because: TEXTS.multiple },
    { variant: "$holdout", count: holdout, because: TEXTS.holdout },
    { variant: "$earlier_phases", count: earlier, because: TEXTS.earlier },
  ].filter(({ count }) => count > 0);
  const others = [
    ...(without > 0 ? [TEXTS.without(without)] : []),
    ...(criteria?.filterTestAccounts === true ? [TEXTS.testAccounts] : []),
  ];
  return (
    <section aria-label={TEXTS.left}>
      <h3 className="font-medium">{TEXTS.left}</h3>
      {reasons.length + others.length === 0 ? (
        <p className="text-ink-2">{TEXTS.noneExcluded}</p>
      ) : (
        <ul className="list-disc ps-5 text-ink-2">
          {reasons.map(({ variant, count, because }) => {
            const text = because(words.people(count, unit));
            return (
              <li key={variant}>
                <OpenButton onOpen={() => onOpen({ variant }, text)}>{text}</OpenButton>
              </li>
            );
          })}
          {others.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {isFirst && <p className="text-ink-3 text-sm">{TEXTS.bySeen(unit)}</p>}
    </section>
  );
}

interface OpenButtonProps {
  label?: string;
  onOpen: () => void;
  children: string;
}

/** A number that opens who is behind it. */
function OpenButton({ label, onOpen, children }: OpenButtonProps) {
  return (
    <button
      type="button"
      className="rounded px-1 text-start text-accent-text hover:underline"
      aria-label={label}
      onClick={onOpen}
    >
      {children}
    </button>
  );
}

/** The people in the experiment as a cohort, which is made once. */
function Cohort({ experiment }: { experiment: Experiment }) {
  const projectId = useProjectId();
  const navigate = useNavigate();
  const canEdit = useCanEdit();
  const make = useExposureCohort(experiment.id);
  const { exposure_cohort: cohort } = experiment;
  const to = "/project/$projectId/cohorts/$cohortId";
  if (cohort !== null) {
    return (
      <LinkButton to={to} params={{ projectId, cohortId: String(cohort) }} icon={Users}>
        {TEXTS.openCohort}
      </LinkButton>
    );
  }
  return (
    <Button
      icon={Users}
      disabled={!canEdit || experiment.start_date === null}
      title={canEdit ? undefined : pageWords.viewerHint}
      isBusy={make.isPending}
      onClick={() =>
        make.mutate(undefined, {
          onSuccess: ({ cohort: made }) => {
            toast({ text: TEXTS.cohortMade });
            void navigate({ to, params: { projectId, cohortId: String(made.id) } });
          },
          onError: toastError,
        })
      }
    >
      {TEXTS.toCohort}
    </Button>
  );
}
