import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useProjectId } from "@/app/session";
import { DailyChart, type TrendFilters, trendQuery } from "@/insights";
import { Loaded } from "@/ui/States";
import { words } from "@/words/flagRollout";
import { formatNumber } from "@/words/format";
import { averageOf } from "./rollback";

const TEXTS = words.rollback;

interface Props {
  metric: TrendFilters;
  what: string;
  threshold: number;
  isBelow: boolean;
}

/** The last two weeks with the limit, and the average that is compared with it. */
export function RollbackChart({ metric, what, threshold, isBelow }: Props) {
  const projectId = useProjectId();
  const thresholds = useMemo(() => [{ name: TEXTS.limit, value: threshold }], [threshold]);
  const trend = useQuery(trendQuery(projectId, metric));
  return (
    <Loaded query={trend} rows={4}>
      {(loaded) => {
        const average = averageOf(loaded);
        const holds = isBelow ? average < threshold : average > threshold;
        const text = TEXTS.average(formatNumber(average), formatNumber(threshold), holds);
        return (
          <DailyChart
            what={what}
            days={loaded.days}
            zone={loaded.zone}
            series={loaded.series.slice(0, 1)}
            thresholds={thresholds}
            fileName={what}
            height={180}
            note={<span className={holds ? "font-medium text-bad" : undefined}>{text}</span>}
          />
        );
      }}
    </Loaded>
  );
}
