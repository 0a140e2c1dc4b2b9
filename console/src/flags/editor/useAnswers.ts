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

type Client = components["schemas"]["PersonClient"];
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
  /** What the person's browser sends beside the id; null where an id was entered. */
  client: Client | null;
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
      if (byId !== undefined) {
        return { distinctId: who, person: byId, isAmbiguous: false, client: null };
      }
      const found = who.includes("@") ? (await find({ email: who })).results : [];
      const [person] = found;
      if (found.length !== 1 || person === undefined || person.distinct_ids.length === 0) {
        return { distinctId: who, person: null, isAmbiguous: found.length > 1, client: null };
      }
      const client = await dataOf(
        api.GET("/api/projects/{project_id}/persons/{id}/current_client/", {
          params: { path: { project_id: projectId, id: person.id } },
          signal,
        }),
      );
      return { distinctId: client.distinct_id, person, isAmbiguous: false, client };
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
  const client = settledWho === who ? (subject.data?.client ?? null) : null;
  const now = useMemo(
    () => JSON.stringify({ ...unsaved, ...evaluation(asked, client) }),
    [unsaved, asked, client],
  );
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

function evaluation(asked: Asked, client: Client | null): UnsavedEvaluation {
  const entered = Object.entries(asked.groups).filter(([, key]) => key !== "");
  const groups = { ...client?.groups, ...Object.fromEntries(entered) };
  const deviceId = asked.deviceId || (client?.device_id ?? "");
  const has = (one: object) => Object.keys(one).length > 0;
  return {
    ...(has(asked.personProperties) && { person_properties: { ...asked.personProperties } }),
    ...(has(groups) && { groups }),
    ...(has(asked.groupProperties) && { group_properties: { ...asked.groupProperties } }),
    ...(deviceId !== "" && { device_id: deviceId }),
  };
}
