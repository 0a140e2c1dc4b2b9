import { CircleDashed, X } from "lucide-react";
import { FIRST_TIMES } from "@/insights/question/maths";
import type { Series } from "@/insights/question/model";
import { IconButton } from "@/ui/Button";
import { MenuItem } from "@/ui/Menu";
import { Select } from "@/ui/Select";
import { words } from "@/words/insightsBuilder";

interface Props {
  series: Series;
  /** Whether the step may be optional. */
  canSkip: boolean;
  onChange: (series: Series) => void;
}

const ALWAYS = "total";
const TIMES = [ALWAYS, ...FIRST_TIMES] as const;
const isFirst = ({ math }: Series): boolean => FIRST_TIMES.includes(math);

/** Entries of a step's menu: that it may be skipped, and that only first times count. */
export function StepItems({ series, canSkip, onChange }: Props) {
  return (
    <>
      {canSkip && (
        <MenuItem
          icon={CircleDashed}
          onSelect={() => onChange({ ...series, isOptional: true })}
          disabled={series.isOptional === true}
        >
          {words.makeOptional}
        </MenuItem>
      )}
      <MenuItem
        icon={CircleDashed}
        onSelect={() => onChange({ ...series, math: "first_time_for_user" })}
        disabled={isFirst(series)}
      >
        {words.firstTimes}
      </MenuItem>
    </>
  );
}

/** What was chosen in a step's menu, to be changed or taken back. */
export function StepOptions(
  props: Props & { mark: string; errorAt: (attr: string) => string | undefined },
) {
  const { series, mark, canSkip, onChange, errorAt } = props;
  const { isOptional, ...required } = series;
  const error = errorAt("math") ?? errorAt("optionalInFunnel");
  return (
    <>
      {isFirst(series) && (
        <Select
          isSnug
          className="w-auto! self-start"
          aria-label={words.timesOf(mark)}
          value={series.math}
          options={TIMES.map((value) => ({
            value,
            label: words.times[value as keyof typeof words.times],
          }))}
          onChange={(math) => onChange({ ...series, math })}
        />
      )}
      {isOptional && canSkip && (
        <p className="flex min-w-0 items-center gap-1 text-ink-2">
          {words.optional}
          <IconButton
            icon={X}
            label={words.makeRequired(mark)}
            onClick={() => onChange(required)}
          />
        </p>
      )}
      {error && <p className="text-bad text-sm">{error}</p>}
    </>
  );
}
