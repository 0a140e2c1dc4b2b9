import { useMemo } from "react";
import { useProject } from "@/app/session";
import { captionOf, type Series, TimeSeries } from "@/charts";
import { beginOf } from "@/insights/kinds/trends/lines";
import { Notice } from "@/ui/Badge";
import { Visible } from "@/ui/properties";
import { words } from "@/words/alerts";
import { formatOf, intervalOf, nameOfSeries } from "./names";
import type { AlertPreview, AlertRule, Preview } from "./queries";

interface Props {
  preview: Preview;
  /** Whether the rule has a threshold yet; otherwise only the numbers are shown. */
  hasThreshold?: boolean;
}

/** The watched numbers with the threshold, and what a check would say now. */
export function AlertChart({ preview: { rule, answer: preview }, hasThreshold = true }: Props) {
  const interval = intervalOf(preview);
  const name = nameOfSeries(preview);
  const zone = useProject()?.timezone ?? "UTC";
  const times = useMemo(
    () => preview.points.map(({ day }) => beginOf(day ?? "", zone)),
    [preview.points, zone],
  );
  const series = useMemo(
    (): readonly Series[] => [{ name, values: preview.points.map(({ value }) => value) }],
    [name, preview.points],
  );
  const thresholds = useMemo(
    () => (hasThreshold ? thresholdsOf(preview) : []),
    [preview, hasThreshold],
  );
  const isPartial = preview.points.at(-1)?.is_complete === false;
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {hasThreshold && (
        <>
          <p className="text-ink-2">
            <Visible text={words.sentence(whatOf(name, interval), rule, interval)} />
          </p>
          <Verdict preview={preview} rule={rule} />
        </>
      )}
      {preview.points.length > 0 &&
        (interval === null ? (
          <p className="text-ink-3 text-sm">{words.total}</p>
        ) : (
          <TimeSeries
            caption={captionOf(name, times, interval, { zone, isPartial })}
            fileName={name}
            times={times}
            interval={interval}
            zone={zone}
            isPartial={isPartial}
            series={series}
            thresholds={thresholds}
            format={formatOf(preview)}
          />
        ))}
    </div>
  );
}

const whatOf = (name: string, interval: keyof typeof words.intervals | null): string =>
  interval === null ? name : words.per(name, words.intervals[interval]);

function thresholdsOf({ limits }: AlertPreview) {
  const [lower, upper] = limits;
  if (lower === undefined) return [];
  if (upper === undefined) return [{ name: words.limit, value: lower }];
  return [
    { name: words.lowerLimit, value: lower },
    { name: words.upperLimit, value: upper },
  ];
}

interface Checked {
  preview: AlertPreview;
  rule: AlertRule;
}

function Verdict({ preview, rule }: Checked) {
  if (preview.state === "errored")
    return (
      <Notice tone="warn">
        <Visible text={words.wouldFail(preview.error ?? "")} />
      </Notice>
    );
  const compared = comparedOf({ preview, rule });
  const condition = words.condition(rule);
  const isFiring = preview.state === "firing";
  return (
    <Notice tone={isFiring ? "bad" : "good"}>
      {isFiring ? words.wouldFire(compared, condition) : words.wouldNotFire(compared, condition)}
    </Notice>
  );
}

/** "12", or "12 after 8" for a change. */
function comparedOf({ preview, rule }: Checked): string {
  const format = formatOf(preview);
  const value = format(preview.value ?? 0);
  const before = preview.points.filter(({ is_complete }) => is_complete).at(-2);
  const isChange = rule.condition === "changes_by" || rule.condition === "changes_by_percent";
  return isChange && before !== undefined ? words.after(value, format(before.value)) : value;
}
