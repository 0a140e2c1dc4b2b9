import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { describeError } from "@/lib/errors";
import { useSettled } from "@/lib/hooks";
import { words } from "@/words/flagEditor";
import { type ChangePreview, changeQuery, type UnsavedFlag } from "../queries";

// Longer than for the reach, because each person is evaluated, for one change at a time.
const SETTLED_MS = 600;
const said = words.change;

interface Changing {
  data: ChangePreview | undefined;
  error: unknown;
  isCounting: boolean;
}

/** Who would get a different value. flag: null while something is missing */
export function useWhoChanges(projectId: string, flag: UnsavedFlag | null): Changing {
  const asked = useMemo(() => JSON.stringify(flag), [flag]);
  const settled = useSettled(asked, SETTLED_MS);
  const isSettled = settled === asked;
  const query = useQuery({
    ...changeQuery(projectId, JSON.parse(settled) ?? {}),
    enabled: isSettled && flag !== null,
    retry: false,
    staleTime: 10_000,
  });
  return {
    data: isSettled ? query.data : undefined,
    error: isSettled && !query.isFetching ? query.error : null,
    isCounting: flag !== null && (!isSettled || query.isFetching),
  };
}

interface WhoChangesProps {
  changing: Changing;
  isOn: boolean;
  /** The most frequent changes alone. */
  isShort?: boolean;
}

/** "1,204 people go from false to true, 0 the other way." */
export function WhoChanges({ changing, isOn, isShort }: WhoChangesProps) {
  const { data, error, isCounting } = changing;
  if (!isOn) return <p>{said.isOff}</p>;
  if (isCounting) {
    return (
      <p aria-busy className="text-ink-2">
        {said.counting}
      </p>
    );
  }
  if (error) return <p className="text-warn">{describeError(error)}</p>;
  if (data === undefined) return <p className="text-ink-2">{said.incomplete}</p>;
  return <Counted preview={data} transitionsMax={isShort ? SHORT_MAX : TRANSITIONS_MAX} />;
}

const SHORT_MAX = 2;
const TRANSITIONS_MAX = 50;

function Counted(props: { preview: ChangePreview; transitionsMax: number }) {
  const { preview, transitionsMax } = props;
  const { transitions, exact, total_persons: total, sampled_persons: sampled } = preview;
  const isGroup = preview.group_type_index !== null;
  if (total === 0) return <p>{said.nobodyYet(isGroup)}</p>;
  const changes = transitions.filter((one) => one.before !== one.after);
  const shown = changes.slice(0, transitionsMax);
  const left = changes.slice(transitionsMax).reduce((sum, one) => sum + one.persons, 0);
  return (
    <div>
      {changes.length === 0 ? (
        <p>{said.none(isGroup)}</p>
      ) : (
        <ul>
          {shown.map((one) => (
            <li key={`${one.before} ${one.after}`}>
              <Transition change={one} isGroup={isGroup} />
              {changes.length === 1 && `, ${said.back(0)}`}
            </li>
          ))}
          {left > 0 && <li>{said.others(left, isGroup)}</li>}
        </ul>
      )}
      <p className="text-ink-3 text-sm">
        {exact ? said.exact(total, isGroup) : said.sampled(sampled, total, isGroup)}
        {!isGroup && ` ${said.visitors}`}
      </p>
    </div>
  );
}

function Transition(props: { change: ChangePreview["transitions"][number]; isGroup: boolean }) {
  const { persons, before, after } = props.change;
  const parts = said.goes(persons, before, after, props.isGroup);
  return (
    <>
      <strong>{parts.count}</strong> {parts.verb} <Value text={parts.before} /> {parts.to}{" "}
      <Value text={parts.after} />
    </>
  );
}

const Value = ({ text }: { text: string }) => (
  <code className="rounded bg-sunken px-1 font-mono text-[0.9em] text-ink">
    <bdi>{text}</bdi>
  </code>
);
