import { useMemo, useState } from "react";
import { Badge } from "@/ui/Badge";
import { SearchInput } from "@/ui/Field";
import { plainValue, Visible } from "@/ui/properties";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/persons";
import type { FlagNow } from "./queries";

const WORDS = words.flags;

const answerOf = ({ value }: FlagNow): string =>
  value === true ? WORDS.on : value === false ? WORDS.off : value;

function reasonOf({ reason, condition }: Pick<FlagNow, "reason" | "condition">): string {
  const place = condition === null ? WORDS.aCondition : WORDS.condition(condition + 1);
  return WORDS.reasons[reason]?.(place) ?? reason;
}

const comparedText = ({ key, type, is_set, compared }: FlagNow["compared"][number]): string => {
  if (type === "cohort") return WORDS.inCohort(key, compared === true);
  return is_set === false ? WORDS.isUnset(key) : WORDS.isValue(key, plainValue(compared));
};

const whyOf = (flag: FlagNow): string =>
  [reasonOf(flag), flag.compared.map(comparedText).join(", ")].filter(Boolean).join(": ");

const COLUMNS: readonly Column<FlagNow>[] = [
  {
    id: "flag",
    header: WORDS.flag,
    grow: true,
    // Its columns fit beside each other on a phone.
    width: 104,
    wrap: true,
    fixed: true,
    sortable: true,
    cell: ({ key }) => <Visible text={key} />,
    text: ({ key }) => key,
  },
  {
    id: "value",
    header: WORDS.value,
    width: 88,
    sortable: true,
    cell: (flag) => (
      <Badge tone={flag.value === false ? "neutral" : "good"}>
        <Visible text={answerOf(flag)} />
      </Badge>
    ),
    text: answerOf,
  },
  {
    id: "why",
    header: WORDS.why,
    grow: true,
    width: 140,
    wrap: true,
    sortable: true,
    cell: whyOf,
    text: whyOf,
  },
];

interface Props {
  projectId: string;
  flags: readonly FlagNow[];
  /** The distinct id for which a flag that is opened is tried; empty for none. */
  distinctId: string;
  empty: string;
}

/** Flags with their answers for a person, and why. */
export function FlagTable({ projectId, flags, distinctId, empty }: Props) {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const rows = useMemo(
    () => flags.filter(({ key, name }) => `${key} ${name}`.toLowerCase().includes(wanted)),
    [flags, wanted],
  );
  return (
    <DataTable<FlagNow>
      name="person-flags"
      label={WORDS.label}
      columns={COLUMNS}
      rows={rows}
      rowId={({ key }) => key}
      hrefOf={({ id }) =>
        `/project/${projectId}/flags/${id ?? ""}${distinctId && `?try=${encodeURIComponent(JSON.stringify(distinctId))}`}`
      }
      toolbar={<SearchInput label={WORDS.search} value={text} onChange={setText} />}
      empty={empty}
    />
  );
}
