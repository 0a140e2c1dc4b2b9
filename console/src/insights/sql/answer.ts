import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";

type Body = components["schemas"]["SqlBody"];

/** The answer to a query in SQL. */
export interface SqlAnswer
  extends Pick<
    Body,
    "results" | "columns" | "types" | "hasMore" | "limit" | "offset" | "is_cached" | "timezone"
  > {
  rows_read?: number | null;
  seconds?: number | null;
}

/** A query in SQL with the values of its variables. */
export interface SqlQuery {
  kind: "HogQLQuery";
  query: string;
  variables?: Readonly<Record<string, Variable>>;
}

/** A value that `{variables.name}` stands for. */
export interface Variable {
  code_name: string;
  value: string | number | boolean | null;
}

/** Ask a query in SQL.
 *
 * isNew: whether to calculate it even if there is a recent answer
 * throws: ApiError
 */
export async function askSql(
  projectId: string,
  query: SqlQuery,
  isNew: boolean,
  signal: AbortSignal,
): Promise<SqlAnswer> {
  const text = await dataOf(
    api.POST("/api/projects/{project_id}/query/", {
      params: { path: { project_id: projectId } },
      body: {
        query: query as unknown as components["schemas"]["InsightQuery"],
        refresh: isNew ? "force_blocking" : "blocking",
      },
      parseAs: "text",
      signal,
    }),
  );
  return parseExactly(text) as SqlAnswer;
}

type Parse = (
  text: string,
  revive: (key: string, value: unknown, context?: { source?: string }) => unknown,
) => unknown;

/** Parse JSON whose whole numbers may have more digits than a number of JavaScript: those become
 * texts, so that no digit is lost. */
export function parseExactly(text: string): unknown {
  return (JSON.parse as Parse)(text, (_, value, context) =>
    typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)
      ? (context?.source ?? value)
      : value,
  );
}
