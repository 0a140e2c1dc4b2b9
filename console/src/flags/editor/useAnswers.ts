import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, dataOf } from "@/lib/api";
import { useSettled } from "@/lib/hooks";
import type { components } from "@/lib/schema";
import {
  reasonsQuery,
  type UnsavedEvaluation,
  type UnsavedFlag,
  type UnsavedReasons,
} from "../queries";

type Person = Pick<components["schemas"]["PersonBody"], "id" | "name" | "distinct_ids">;

export interface Asked {
  /** A distinct id or an e-mail address. */
  who: string;
  personProperties: Readonly<Record<string, unknown>>;
  /** Group type → key. */
  groups: Readonly<Record<string, string>>;
  groupProperties: Readonly<Record<string, unknown>>;
  deviceId: string;
}

export interface Subject {
  distinctId: string;
  person: Person | null;
  /** Several people have the address. */
  isAmbiguous: boolean;
}

/** Finds the person of a distinct id or an e-mail address; the text is tried as an id first. */
const subjectQuery = (projectId: string, who: string) =>
  queryOptions({
    queryKey: ["flags", projectId, "subject", who],
    queryFn: async ({ signal }): Promise<Subject> => {
      const find = (query: { distinct_id: string } | { email: string }) =>
        dataOf(
          api.GET("/api/projects/{project_id}/persons/", {
            params: { path: { project_id: projectId }, query: { ...query, limit: 2 } },
            signal,
          }),
        );
      const [byId] = (await find({ distinct_id: who })).results;
      if (byId !== undefined) return { distinctId: who, person: byId, isAmbiguous: false };
      const found = who.includes("@") ? (await find({ email: who })).results : [];
      const [person] = found;
      const distinctId = person?.distinct_ids[0];
      if (found.length !== 1 || person === undefined || distinctId === undefined) {
        return { distinctId: who, person: null, isAmbiguous: found.length > 1 };
      }
      return { distinctId, person, isAmbiguous: false };
    },
    staleTime: 10_000,
  });

export interface Answers {
  subject: Subject | undefined;
  reasons: UnsavedReasons | undefined;
  error: unknown;
  isAsking: boolean;
}

/** Evaluates the saved and the unsaved flag. unsaved: null while it is incomplete */
export function useAnswers(projectId: string, asked: Asked, unsaved: UnsavedFlag | null): Answers {
  const who = asked.who.trim();
  const settledWho = useSettled(who);
  const subject = useQuery({
    ...subjectQuery(projectId, settledWho),
    enabled: settledWho !== "" && settledWho === who,
    placeholderData: keepPreviousData,
  });
  const distinctId = settledWho === who ? subject.data?.distinctId : undefined;
  const now = useMemo(() => JSON.stringify({ ...unsaved, ...evaluation(asked) }), [unsaved, asked]);
  const settled = useSettled(now);
  const body: UnsavedEvaluation = { ...JSON.parse(settled), distinct_id: distinctId ?? "" };
  const isReady = who !== "" && unsaved !== null && distinctId !== undefined;
  const reasons = useQuery({
    ...reasonsQuery(projectId, body),
    enabled: isReady && !subject.isPlaceholderData && settled === now,
    retry: false,
  });
  const isAsking = who !== "" && (settledWho !== who || subject.isFetching || reasons.isFetching);
  return {
    subject: who === "" ? undefined : subject.data,
    reasons: who === "" ? undefined : reasons.data,
    error: subject.error ?? reasons.error,
    isAsking: isAsking || (isReady && settled !== now),
  };
}

function evaluation(asked: Asked): UnsavedEvaluation {
  const groups = Object.fromEntries(Object.entries(asked.groups).filter(([, key]) => key !== ""));
  const has = (one: object) => Object.keys(one).length > 0;
  return {
    ...(has(asked.personProperties) && { person_properties: { ...asked.personProperties } }),
    ...(has(groups) && { groups }),
    ...(has(asked.groupProperties) && { group_properties: { ...asked.groupProperties } }),
    ...(asked.deviceId !== "" && { device_id: asked.deviceId }),
  };
}
