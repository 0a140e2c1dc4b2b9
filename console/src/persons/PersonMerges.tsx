import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useProjectId } from "@/app/session";
import { Card, LINK } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/persons";
import { type Person, type PersonMerge, personMergesQuery } from "./queries";

const WORDS = words.merges;
const IDS_SHOWN = 3;

const whatOf = (merge: PersonMerge): string =>
  merge.type === "split" ? WORDS.split : WORDS.merged;

/** Who or what made it: a user where one asked for it, else the event. */
function causeOf({ user, event }: PersonMerge): string {
  if (user !== null) return user.first_name || user.email;
  return event === null ? WORDS.unknownUser : WORDS.event(event.event, event.distinct_id);
}

const COLUMNS: readonly Column<PersonMerge>[] = [
  {
    id: "at",
    header: WORDS.at,
    width: 150,
    fixed: true,
    cell: ({ created_at }) => <Time at={created_at} />,
    text: ({ created_at }) => created_at,
  },
  {
    id: "what",
    header: WORDS.what,
    width: 180,
    cell: (merge) => <What merge={merge} />,
    text: whatOf,
  },
  {
    id: "ids",
    header: WORDS.ids,
    grow: true,
    wrap: true,
    cell: (merge) => <Visible text={idsOf(merge)} />,
    text: ({ distinct_ids }) => distinct_ids.join(" "),
  },
  {
    id: "by",
    header: WORDS.by,
    grow: true,
    cell: (merge) => <Visible text={causeOf(merge)} />,
    text: causeOf,
  },
];

function idsOf({ distinct_ids, distinct_ids_count }: PersonMerge): string {
  const shown = distinct_ids.slice(0, IDS_SHOWN);
  const rest = distinct_ids_count - shown.length;
  return rest > 0 ? `${shown.join(", ")} ${WORDS.moreIds(rest)}` : shown.join(", ");
}

function What({ merge }: { merge: PersonMerge }) {
  const projectId = useProjectId();
  if (merge.type !== "split" || merge.other_person === null) return whatOf(merge);
  const personId = merge.other_person;
  return (
    <>
      {WORDS.split}{" "}
      <Link
        to="/project/$projectId/persons/$personId"
        params={{ projectId, personId }}
        className={LINK}
      >
        {WORDS.toPerson}
      </Link>
    </>
  );
}

/** The merges and splits of a person, the newest first. */
export function PersonMerges({ person }: { person: Person }) {
  const merges = useInfiniteQuery(personMergesQuery(useProjectId(), person.id));
  const rows = useMemo(() => merges.data?.pages.flatMap((page) => page.results), [merges.data]);
  return (
    <Card title={WORDS.title} description={WORDS.hint}>
      <Loaded query={merges}>
        {(found) => (
          <DataTable<PersonMerge>
            name="person-merges"
            label={WORDS.label}
            columns={COLUMNS}
            rows={rows ?? []}
            rowId={({ id }) => String(id)}
            total={found.pages[0]?.count ?? 0}
            more={{
              hasMore: merges.hasNextPage,
              isLoading: merges.isFetchingNextPage,
              load: () => void merges.fetchNextPage(),
            }}
            maxHeight="24rem"
            empty={WORDS.empty}
          />
        )}
      </Loaded>
    </Card>
  );
}
