import { words } from "@/words/ui";

/** status: 0 when no answer came; attr: the field that the error is about */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly attr: string | null = null,
    readonly retryAfterS: number | null = null,
  ) {
    super(detail);
    this.name = "ApiError";
  }

  get isUnreachable(): boolean {
    return this.status === 0;
  }
}

interface ErrorBody {
  code: string;
  detail: string;
  attr: string | null;
}

function isErrorBody(value: unknown): value is ErrorBody {
  return (
    typeof value === "object" &&
    value !== null &&
    "code" in value &&
    typeof value.code === "string" &&
    "detail" in value &&
    typeof value.detail === "string"
  );
}

export async function readError(response: Response): Promise<ApiError> {
  const text = await response.text();
  const retryAfter = Number(response.headers.get("retry-after")) || null;
  try {
    const body: unknown = JSON.parse(text);
    if (isErrorBody(body)) {
      return new ApiError(response.status, body.code, body.detail, body.attr ?? null, retryAfter);
    }
  } catch {
    // No JSON: something between the browser and the server has answered.
  }
  return new ApiError(response.status, "error", words.answered(response.status), null, retryAfter);
}

/** Return what went wrong for a user, in the server's words if it gave any. */
export function describeError(error: unknown): string {
  if (error instanceof ApiError) return error.detail;
  return error instanceof Error ? error.message : String(error);
}

/** Return the index of the entry that an error about a list field concerns. */
export function placeOf(error: unknown, list: string): number | undefined {
  if (!(error instanceof ApiError) || !error.attr?.startsWith(`${list}__`)) return undefined;
  const place = Number.parseInt(error.attr.slice(list.length + 2), 10);
  return Number.isNaN(place) ? undefined : place;
}

/** The error of one field, for its place in a form. */
export function errorOf(error: unknown, attr: string): string | undefined {
  return error instanceof ApiError && error.attr === attr ? error.detail : undefined;
}
