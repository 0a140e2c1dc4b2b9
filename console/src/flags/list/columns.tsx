import { ShareBar, Sparkline } from "@/charts";
import { Badge } from "@/ui/Badge";
import { Switch } from "@/ui/Field";
import { Time } from "@/ui/Time";
import { toastError } from "@/ui/Toast";
import { Tooltip } from "@/ui/Tooltip";
import type { Column } from "@/ui/table";
import { words } from "@/words/flagList";
import { formatNumber } from "@/words/format";
import { switchFlag } from "../changes";
import type { FlagOverview } from "../listQueries";
import { variantsOf } from "../model";
import type { Names } from "../sentence";
import { callsOf, type FlagListRow, sentenceOf } from "./rows";

const HEADERS = words.columns;

interface Context {
  projectId: string;
  names: Names;
}

export function flagColumns({ projectId, names }: Context): readonly Column<FlagListRow>[] {
  return [
    {
      id: "key",
      header: HEADERS.key,
      fixed: true,
      sortable: true,
      grow: true,
      width: 196,
      cell: ({ flag }) => <KeyCell row={{ key: flag.key, name: flag.name }} />,
      text: ({ flag }) => flag.key,
    },
    {
      id: "active",
      header: HEADERS.active,
      sortable: true,
      width: 64,
      cell: (row) => <SwitchCell projectId={projectId} row={row} />,
      text: ({ flag }) => flag.active,
    },
    {
      id: "rules",
      header: HEADERS.rules,
      grow: true,
      width: 214,
      wrap: true,
      cell: ({ flag }) => <Sentence text={whoGets(flag, names)} />,
      text: ({ flag }) => whoGets(flag, names),
    },
    {
      id: "variants",
      header: HEADERS.variants,
      width: 116,
      cell: ({ flag }) => <VariantsCell shares={variantsOf(flag)} />,
      text: ({ flag }) =>
        variantsOf(flag)
          .map(({ name, value }) => `${name} ${value}%`)
          .join(", "),
    },
    {
      id: "calls",
      header: HEADERS.calls,
      sortable: true,
      width: 136,
      cell: (row) => <CallsCell row={row} />,
      text: (row) => (row.overview === undefined ? undefined : callsOf(row)),
    },
    {
      id: "changed",
      header: HEADERS.changed,
      sortable: true,
      width: 125,
      cell: ({ overview }) => <ChangedCell overview={overview} />,
      text: ({ overview }) => (overview?.changed_at ? new Date(overview.changed_at) : undefined),
    },
    {
      id: "stale",
      header: HEADERS.stale,
      sortable: true,
      width: 134,
      cell: (row) => <StateCell row={row} />,
      text: (row) => stateText(row),
    },
    {
      id: "tags",
      header: HEADERS.tags,
      width: 118,
      wrap: true,
      cell: ({ flag }) => <TagsCell tags={flag.tags} />,
      text: ({ flag }) => flag.tags.join(", "),
    },
    {
      id: "created",
      header: HEADERS.created,
      sortable: true,
      width: 130,
      cell: ({ flag }) => <Time at={flag.created_at} />,
      text: ({ flag }) => new Date(flag.created_at),
    },
  ];
}

function KeyCell({ row: { key, name } }: { row: { key: string; name: string } }) {
  return (
    <span className="block min-w-0" title={name === "" ? key : `${key}\n${name}`}>
      <bdi className="block truncate font-medium">{key}</bdi>
      {name !== "" && <bdi className="block truncate text-ink-3 text-sm">{name}</bdi>}
    </span>
  );
}

function SwitchCell({ projectId, row: { flag } }: { projectId: string; row: FlagListRow }) {
  const change = (active: boolean) => {
    switchFlag(projectId, flag, active).catch(toastError);
  };
  const control = (
    <Switch
      label={words.switchOf(flag.key)}
      isOn={flag.active}
      onChange={change}
      disabled={!flag.can_edit}
    />
  );
  if (flag.can_edit) return control;
  return (
    <Tooltip text={words.noRight}>
      <span>{control}</span>
    </Tooltip>
  );
}

function Sentence({ text }: { text: string }) {
  return (
    <span className="line-clamp-2" title={text}>
      <bdi>{text}</bdi>
    </span>
  );
}

function VariantsCell({ shares }: { shares: readonly { name: string; value: number }[] }) {
  if (shares.length === 0) return <span className="text-ink-3">{words.noVariants}</span>;
  return (
    <div className="pt-1.5">
      <ShareBar label={words.variantShares} shares={shares} />
    </div>
  );
}

function CallsCell({ row }: { row: FlagListRow }) {
  const { overview, flag } = row;
  if (overview === undefined) return null;
  const calls = callsOf(row);
  const evaluations = overview.evaluations.reduce((sum, one) => sum + one, 0);
  return (
    <span
      className="inline-flex items-center gap-2 tabular-nums"
      title={words.evaluated(evaluations)}
    >
      {calls > 0 && (
        <Sparkline label={words.callsPerDay(flag.key)} values={overview.calls} isPartial />
      )}
      {calls > 0 ? formatNumber(calls) : <span className="text-ink-3">{words.noCalls}</span>}
    </span>
  );
}

function ChangedCell({ overview }: { overview: FlagOverview | undefined }) {
  if (overview === undefined || overview.changed_at === null) return null;
  const by = overview.changed_by;
  const name = by === null ? "" : by.is_system ? words.system : by.first_name || by.email || "";
  return (
    <span className="block min-w-0">
      <Time at={overview.changed_at} />
      <bdi className="block truncate text-ink-3 text-sm" title={by?.email ?? undefined}>
        {words.by(name)}
      </bdi>
    </span>
  );
}

function stateText({ flag, overview }: FlagListRow): string {
  if (flag.performed_rollback === true) return words.rolledBack;
  return overview?.stale_reason ? words.stale[overview.stale_reason] : "";
}

function StateCell({ row }: { row: FlagListRow }) {
  const { flag, overview } = row;
  const text = stateText(row);
  if (text === "") return null;
  const isRolledBack = flag.performed_rollback === true;
  const reason = overview?.stale_reason ?? null;
  const hint = isRolledBack || reason === null ? words.rolledBackHint : words.staleHint[reason];
  return (
    <span title={hint}>
      <Badge tone={isRolledBack ? "bad" : "warn"}>{text}</Badge>
    </span>
  );
}

function TagsCell({ tags }: { tags: readonly string[] }) {
  return (
    <span className="flex flex-wrap gap-1">
      {tags.map((tag) => (
        <Badge key={tag}>
          <bdi className="truncate">{tag}</bdi>
        </Badge>
      ))}
    </span>
  );
}

/** The rules in a sentence, which begins with it where the flag is off. */
function whoGets(flag: FlagListRow["flag"], names: Names): string {
  const sentence = sentenceOf(flag, names);
  return flag.active ? sentence : words.whenOn(sentence);
}
