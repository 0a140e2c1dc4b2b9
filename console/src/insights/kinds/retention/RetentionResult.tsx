import { useMemo } from "react";
import { Categories, colorsByValue, Figure, rangeName } from "@/charts";
import { nameOfSeries } from "@/insights/question/seriesName";
import { formatShare } from "@/words/format";
import { words } from "@/words/insightsRetention";
import type { ResultProps } from "../kind";
import { placeOf } from "./behind";
import { groupsOf, lengthOf, meansOf, readCohorts } from "./cohorts";
import { optionsOf, spanOf } from "./options";
import { entitiesOf, periodOf } from "./query";
import { RetentionGrid } from "./RetentionGrid";
import { retentionTable } from "./table";

/** The cohort table, with a curve of the means above it. */
export function RetentionResult({ question, answer, isTile, height, onOpen }: ResultProps) {
  const options = optionsOf(question);
  const period = periodOf(question);
  const cohorts = useMemo(() => readCohorts(answer, question), [answer, question]);
  const { target, returning } = entitiesOf(question);
  const [first, last] = [cohorts[0], cohorts.at(-1)];
  if (target === undefined || returning === undefined || !first || !last) return null;
  const names = [nameOfSeries(target), nameOfSeries(returning)] as const;
  const isCurve = options.display === "ActionsLineGraph";
  return (
    <div className="flex min-w-0 flex-col gap-5">
      {isCurve && (
        <Curve question={question} answer={answer} {...(height !== undefined && { height })} />
      )}
      {!(isCurve && isTile) && (
        <Figure
          caption={words.caption(...names, rangeName(first.begin, last.begin, period, answer.zone))}
          data={retentionTable({ question, answer })}
          fileName="retention"
        >
          <RetentionGrid
            cohorts={cohorts}
            options={options}
            period={period}
            zone={answer.zone}
            sizeName={question.groupTypeIndex === undefined ? words.size : words.sizeOfGroups}
            onOpen={onOpen && ((cohort, place) => onOpen(placeOf(cohort, place)))}
          />
        </Figure>
      )}
    </div>
  );
}

const percent = (share: number): string => formatShare(Math.round(share * 10) / 10);

/** The mean retention, one line per breakdown value. */
function Curve({ question, answer, height }: Pick<ResultProps, "question" | "answer" | "height">) {
  const options = optionsOf(question);
  const { reference, mean } = options;
  const period = periodOf(question);
  const { target, returning } = entitiesOf(question);
  const groups = groupsOf(readCohorts(answer, question));
  const length = Math.max(...groups.map((group) => lengthOf(group.cohorts)));
  const kind = mean === "none" ? "weighted" : mean;
  const colors = colorsByValue(groups.flatMap(({ name }) => name ?? []));
  const series = groups.map(({ key, name, cohorts }) => {
    const color = name === null ? undefined : colors.get(name);
    return {
      key,
      name: name ?? words.meanRow[kind],
      values: meansOf(cohorts, length, reference, kind),
      ...(color !== undefined && { color }),
    };
  });
  const categories = Array.from({ length }, (_, place) => {
    const name = words.after(period, spanOf(options, place));
    return { name, short: name };
  });
  return (
    <Categories
      caption={words.curveCaption(
        target === undefined ? "" : nameOfSeries(target),
        returning === undefined ? "" : nameOfSeries(returning),
      )}
      fileName="retention-curve"
      categories={categories}
      series={series}
      form="lines"
      format={percent}
      data={{
        columns: [words.mean, ...series.map(({ name }) => words.inPercent(name))],
        rows: categories.map(({ name }, place) => [
          name,
          ...series.map(({ values }) => rounded(values[place] ?? null)),
        ]),
      }}
      {...(height !== undefined && { height })}
    />
  );
}

const rounded = (share: number | null): number | null =>
  share === null ? null : Math.round(share * 10) / 10;
