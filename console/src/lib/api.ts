import createClient from "openapi-fetch";
import { ApiError, readError } from "@/lib/errors";
import { prefix } from "@/lib/prefix";
import { connected, noteAnswer, noteLost } from "@/lib/reachability";
import type { paths } from "@/lib/schema";
import { words } from "@/words/ui";

/** Asks the user for what the server wants before it answers; false: the user declined. */
export type Ask = () => Promise<boolean>;

// The shell sets these to its dialogs.
const asks: { signIn: Ask | null; confirmPassword: Ask | null; secondFactor: Ask | null } = {
  signIn: null,
  confirmPassword: null,
  secondFactor: null,
};

export function onSignInNeeded(ask: Ask): void {
  asks.signIn = ask;
}

export function onConfirmationNeeded(ask: Ask): void {
  asks.confirmPassword = ask;
}

export function onSecondFactorNeeded(ask: Ask): void {
  asks.secondFactor = ask;
}

// No form of another page can send it. Source: docs/sessions.md of the server
const OWN_HEADER = ["X-Fanion-Console", "1"] as const;

// Questions that are too long for an address.
const READS =
  /\/(query|preview|preview_change|plan|reach|evaluation_reasons|insights\/trend|persons\/(trends|funnel|retention|path|stickiness|lifecycle))\/$/;

async function exchange(request: Request): Promise<Response> {
  request.headers.set(...OWN_HEADER);
  const isRead = request.method === "GET" || READS.test(new URL(request.url).pathname);
  if (!isRead && !navigator.onLine) throw new ApiError(0, "offline", words.offline);
  try {
    const response = await fetch(request);
    // A proxy answers for a server that does not.
    if ([502, 504].includes(response.status)) throw new Error(response.statusText);
    noteAnswer();
    return response;
  } catch (error) {
    if (request.signal.aborted) throw error;
    noteLost();
    throw isRead
      ? new ApiError(0, "unreachable", words.unreachable)
      : new ApiError(0, NO_ANSWER, words.noAnswer);
  }
}

const NO_ANSWER = "no_answer";

/** Return whether a change was sent and its answer did not come, so that its outcome is unknown. */
export const isAnswerLost = (error: unknown): boolean =>
  error instanceof ApiError && error.code === NO_ANSWER;

/** Find out what became of a change whose answer was lost, as soon as the server answers again.
 *
 * read: what is stored now, if it has the change; null: it does not have it
 * throws: ApiError: for any other error, and where the change was not made
 */
export async function settleLost<T>(error: unknown, read: () => Promise<T | null>): Promise<T> {
  if (!isAnswerLost(error)) throw error;
  await connected();
  const stored = await read();
  if (stored === null) throw new ApiError(0, "not_saved", words.notSaved);
  return stored;
}

/** An answer with a status of success, after signing in again where that is needed.
 *
 * throws: ApiError
 */
export async function send(request: Request): Promise<Response> {
  const again = request.clone();
  const response = await exchange(request);
  if (response.ok) return response;
  const error = await readError(response);
  const ask = askFor(error);
  if (ask !== null && (await ask())) return send(again);
  throw error;
}

/** The code of every answer to a member who still has to set up a required second factor. */
export const SECOND_FACTOR_NEEDED = "two_factor_setup_required";

function askFor(error: ApiError): Ask | null {
  if (error.code === "fresh_sign_in_required") return asks.confirmPassword;
  if (error.code === SECOND_FACTOR_NEEDED) return asks.secondFactor;
  return error.status === 401 ? asks.signIn : null;
}

/** The client of the API. Paths, parameters and responses have the types of the server's schema. */
export const api = createClient<paths>({
  baseUrl: location.origin + prefix,
  fetch: send,
  credentials: "same-origin",
});

/** The client for requests before a user is signed in, for which 401 is an error like others. */
export const publicApi = createClient<paths>({
  baseUrl: location.origin + prefix,
  fetch: async (request) => {
    const response = await exchange(request);
    if (response.ok) return response;
    throw await readError(response);
  },
  credentials: "same-origin",
});

/** The answer itself; errors are thrown before.
 *
 * await dataOf(api.GET("/api/projects/{project_id}/", { params: … }))
 */
export async function dataOf<T>(answer: Promise<{ data?: T; response: Response }>): Promise<T> {
  const { data, response } = await answer;
  if (data === undefined && response.status !== 204) {
    throw new ApiError(response.status, "error", words.answered(response.status));
  }
  return data as T;
}
