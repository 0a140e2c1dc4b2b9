import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { ActivityList } from "./ActivityList";
import type { ActivityEntry } from "./describe";
import { ACTIVITY_PAGE } from "./pageSize";

interface Props {
  query: UseQueryResult<{ results: readonly ActivityEntry[]; total_count: number }>;
  /** The first page is 1. */
  page: number;
  onPage: (page: number) => void;
  empty?: ReactNode;
}

/** The activity of one item, for its page. */
export function ActivityCard({ query, page, onPage, empty }: Props) {
  return (
    <Card>
      <Loaded query={query}>
        {({ results, total_count: total }) => (
          <ActivityList
            entries={results}
            empty={empty}
            pages={{ page, pageSize: ACTIVITY_PAGE, total, onPage }}
          />
        )}
      </Loaded>
    </Card>
  );
}
