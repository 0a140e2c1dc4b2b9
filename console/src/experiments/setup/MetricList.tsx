import { useQuery } from "@tanstack/react-query";
import { Bookmark, Plus, Trash2 } from "lucide-react";
import { useProjectId } from "@/app/session";
import { InlineWholeField } from "@/insights";
import { Badge } from "@/ui/Badge";
import { Button, IconButton } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";
import { Visible } from "@/ui/properties";
import { words } from "@/words/experiments";
import { type Entry, EVENT_LISTS, entryId, newEntry, type Role, sentEntries } from "./fields";
import { MetricFields } from "./MetricFields";
import { changedMetric, type Metric } from "./metric";
import { savedMetricsQuery } from "./queries";

const WORDS = words.metric;
const TOLERANCE_MAX = 1000;

interface Props {
  role: Role;
  entries: readonly Entry[];
  /** Whether nothing can be changed. */
  isReadOnly: boolean;
  onChange: (entries: readonly Entry[]) => void;
  errorOf: (attr: string) => string | undefined;
}

/** The metrics that an experiment has for one purpose. */
export function MetricList({ role, entries, isReadOnly, onChange, errorOf }: Props) {
  const sent = sentEntries(entries);
  const add = (entry: Entry) => onChange([...entries, entry]);
  const own = entries.filter((entry) => !("saved" in entry)).length;
  return (
    <fieldset
      disabled={isReadOnly}
      aria-label={WORDS.roles[role]}
      className="flex min-w-0 flex-col gap-3"
    >
      {entries.length > 0 && (
        <ol className="flex min-w-0 flex-col gap-3">
          {entries.map((entry, place) => (
            <li
              key={entry.id}
              className={
                entries.length > 1 || role !== "primary"
                  ? "min-w-0 rounded-md border border-line p-3"
                  : "min-w-0"
              }
            >
              <EntryFields
                entry={entry}
                label={WORDS.numbered(WORDS.one[role], place + 1, entries.length)}
                isGuardrail={role === "guardrail"}
                canRemove={!isReadOnly && (role !== "primary" || entries.length > 1)}
                onChange={(next) => onChange(entries.with(place, next))}
                onRemove={() => onChange(entries.toSpliced(place, 1))}
                errorAt={(at) => {
                  const index = sent.findIndex(({ id }) => id === entry.id);
                  return index < 0 ? undefined : errorOf(`${EVENT_LISTS[role]}__${index}__${at}`);
                }}
              />
            </li>
          ))}
        </ol>
      )}
      {!isReadOnly && (
        <div className="flex flex-wrap gap-2">
          <Button small look="quiet" icon={Plus} onClick={() => add(newEntry(guarded(role)))}>
            {own === 0 ? WORDS.add[role] : WORDS.addAnother[role]}
          </Button>
          <SavedMetricMenu role={role} entries={entries} onAdd={add} />
        </div>
      )}
    </fieldset>
  );
}

/** A guardrail begins with what must not decrease. */
function guarded(role: Role): Metric | undefined {
  if (role !== "guardrail") return undefined;
  const entry = newEntry();
  return "metric" in entry ? changedMetric(entry.metric, { tolerance: 0 }) : undefined;
}

interface EntryProps {
  entry: Entry;
  label: string;
  isGuardrail: boolean;
  canRemove: boolean;
  onChange: (entry: Entry) => void;
  onRemove: () => void;
  errorAt: (place: string) => string | undefined;
}

function EntryFields(props: EntryProps) {
  const { entry, label, canRemove, isGuardrail, onChange, onRemove, errorAt } = props;
  return (
    <div className="flex min-w-0 items-start gap-2">
      <div className="flex min-w-0 flex-1 flex-col gap-3">
        {"saved" in entry && (
          <span className="flex min-w-0 flex-wrap items-center gap-2">
            <Visible text={entry.name} />
            <Badge>{WORDS.saved}</Badge>
          </span>
        )}
        {"unknown" in entry && <p className="text-ink-2">{WORDS.unknown}</p>}
        {"metric" in entry && (
          <>
            <MetricFields
              metric={entry.metric}
              label={label}
              onChange={(metric) => onChange({ ...entry, metric })}
              errorAt={errorAt}
            />
            {isGuardrail && (
              <Tolerance
                metric={entry.metric}
                label={label}
                onChange={(metric) => onChange({ ...entry, metric })}
              />
            )}
          </>
        )}
      </div>
      {canRemove && <IconButton icon={Trash2} label={WORDS.remove(label)} onClick={onRemove} />}
    </div>
  );
}

interface ToleranceProps {
  metric: Metric;
  label: string;
  onChange: (metric: Metric) => void;
}

function Tolerance({ metric, label, onChange }: ToleranceProps) {
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-1.5">
      <span>{WORDS.tolerance[metric.goal]}</span>
      <InlineWholeField
        label={WORDS.toleranceOf(label)}
        className="w-16"
        value={Math.round((metric.tolerance ?? 0) * 100)}
        least={0}
        most={TOLERANCE_MAX}
        onChange={(percent) => onChange(changedMetric(metric, { tolerance: percent / 100 }))}
      />
      <span aria-hidden>%</span>
    </div>
  );
}

interface SavedProps {
  role: Role;
  entries: readonly Entry[];
  onAdd: (entry: Entry) => void;
}

/** Adds a metric that several experiments share, if the project has any. */
function SavedMetricMenu({ role, entries, onAdd }: SavedProps) {
  const saved = useQuery(savedMetricsQuery(useProjectId())).data ?? [];
  const left = saved.filter(({ id }) => !entries.some((one) => "saved" in one && one.saved === id));
  if (left.length === 0) return null;
  return (
    <Menu
      align="start"
      trigger={
        <Button small look="quiet" icon={Bookmark}>
          {WORDS.addSaved[role]}
        </Button>
      }
    >
      {left.map(({ id, name }) => (
        <MenuItem key={id} onSelect={() => onAdd({ id: entryId(), saved: id, name })}>
          <Visible text={name} />
        </MenuItem>
      ))}
    </Menu>
  );
}
