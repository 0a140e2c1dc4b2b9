import { useNavigate } from "@tanstack/react-router";
import { Users } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useCanEdit, useProject, useProjectId } from "@/app/session";
import type { SeriesColor } from "@/charts";
import { ActorsDrawer, DailyChart } from "@/insights";
import { Notice } from "@/ui/Badge";
import { Button, LinkButton } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/experimentResults";
import { words as pageWords } from "@/words/experiments";
import { formatNumber } from "@/words/format";
import type { Experiment } from "../queries";
import { type Exposures as Found, type Results, useExposureCohort } from "../resultQueries";
import { isOfGroups } from "./Verdict";

const TEXTS = words.exposures;
export type Colors = ReadonlyMap<string, SeriesColor>;

interface Props {
  experiment: Experiment;
  results: Results;
  colors: Colors;
}

/** Who takes part: by day and variant, with the check of the split and who was left out. */
export function Exposures({ experiment, results, colors }: Props) {
  const { exposures, end } = { ...results, end: results.to ?? null };
  const areGroups = isOfGroups(experiment);
  const zone = useProject()?.timezone ?? "UTC";
  const keys = Object.keys(exposures.variants);
  return (
    <Card
      title={TEXTS.title(areGroups)}
      description={TEXTS.hint}
      actions={!areGroups && <Cohort experiment={experiment} />}
    >
      {exposures.days.length === 0 ? (
        <p className="text-ink-2">{TEXTS.none}</p>
      ) : (
        <div className="grid gap-x-8 gap-y-4 lg:grid-cols-[3fr_2fr]">
          <DailyChart
            what={TEXTS.perDay(areGroups)}
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
            <Arms experiment={experiment} results={results} colors={colors} />
            <Split exposures={exposures} />
            <Left experiment={experiment} exposures={exposures} areGroups={areGroups} />
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

function Arms({ experiment, results, colors }: Props) {
  const { variants, total, split } = results.exposures;
  const [opened, setOpened] = useState<string | null>(null);
  const whole = Object.values(split.expected).reduce((sum, one) => sum + one, 0);
  const { columns } = TEXTS;
  return (
    <>
      <table className="w-full" aria-label={TEXTS.table}>
        <thead>
          <tr className="border-line border-b text-ink-2 text-sm">
            <th className="py-1 text-start font-medium">{columns.variant}</th>
            <th className="py-1 text-end font-medium">{columns.people}</th>
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
                {canOpen(experiment, count) ? (
                  <button
                    type="button"
                    className="rounded px-1 text-accent-text hover:underline"
                    aria-label={TEXTS.open(key, formatNumber(count))}
                    onClick={() => setOpened(key)}
                  >
                    {formatNumber(count)}
                  </button>
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
      {opened !== null && (
        <ActorsDrawer
          question={questionOf(experiment, results, opened)}
          description={TEXTS.behindAll(opened)}
          name={TEXTS.behind(opened)}
          onClose={() => setOpened(null)}
        />
      )}
    </>
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

const DEFAULT_EVENT = "$feature_flag_called";

/** People are found by the calls of the flag; groups and other exposure events are not. */
const canOpen = (experiment: Experiment, count: number): boolean =>
  count > 0 && !isOfGroups(experiment) && !experiment.exposure_criteria?.exposure_config;

function questionOf(experiment: Experiment, results: Results, variant: string) {
  const conditions = [
    {
      key: "$feature_flag",
      value: [experiment.feature_flag_key],
      operator: "exact",
      type: "event",
    },
    { key: "$feature_flag_response", value: [variant], operator: "exact", type: "event" },
  ];
  return {
    insight: "TRENDS" as const,
    filters: {
      insight: "TRENDS",
      display: "BoldNumber",
      events: [{ id: DEFAULT_EVENT, math: "dau", properties: conditions }],
      date_from: results.from,
      date_to: results.to ?? null,
    },
    place: {},
  };
}

function Split({ exposures: { split } }: { exposures: Found }) {
  const { early, fine, small, bad } = TEXTS.split;
  const text = split.p_value === null ? early : !split.mismatch ? fine : split.small ? small : bad;
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
  areGroups: boolean;
}

/** Who was not counted, and why. */
function Left({ experiment, exposures, areGroups }: LeftProps) {
  const { multiple, holdout, earlier_phases: earlier, without_variant: without } = exposures;
  const criteria = experiment.exposure_criteria;
  const people = (count: number) => words.people(count, areGroups);
  const isFirst = criteria?.multiple_variant_handling === "first_seen";
  const left: ReactNode[] = [
    multiple > 0 && TEXTS.multiple(people(multiple)),
    holdout > 0 && TEXTS.holdout(people(holdout)),
    earlier > 0 && TEXTS.earlier(people(earlier)),
    without > 0 && TEXTS.without(without),
    criteria?.filterTestAccounts === true && TEXTS.testAccounts,
  ].filter(Boolean);
  return (
    <section aria-label={TEXTS.left}>
      <h3 className="font-medium">{TEXTS.left}</h3>
      {left.length === 0 ? (
        <p className="text-ink-2">{TEXTS.noneExcluded}</p>
      ) : (
        <ul className="list-disc ps-5 text-ink-2">
          {left.map((text) => (
            <li key={String(text)}>{text}</li>
          ))}
        </ul>
      )}
      {isFirst && <p className="text-ink-3 text-sm">{TEXTS.bySeen}</p>}
    </section>
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
