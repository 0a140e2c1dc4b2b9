import { type EventSourceMessage, EventSourceParserStream } from "eventsource-parser/stream";
import { send } from "@/lib/api";
import { ApiError, readError } from "@/lib/errors";
import { prefix } from "@/lib/prefix";
import { onReturn } from "@/lib/reachability";

/** open: an answer has begun; waiting: it is tried again; ended: it is not. */
export type Connection = "connecting" | "open" | "waiting" | "ended";

export interface StreamHandlers {
  onMessage: (message: EventSourceMessage) => void;
  onState?: (state: Connection, error?: ApiError) => void;
}

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 15_000;
/** The server sends a comment every ten seconds. A connection that brings nothing for longer is dead,
 * which a browser may never notice: the computer was asleep, or something between has forgotten it.
 */
const SILENT_MAX_MS = 30_000;

/** Read the server-sent events of a path of the API until the signal. A browser's own EventSource does
 * not connect again after a refusal; this does, except after refusals that would stay the same. A user
 * whose session has ended is asked to sign in.
 *
 * after: the id of the last message that is known already; "" for none
 */
export async function readStream(
  path: string,
  handlers: StreamHandlers,
  after: string,
  signal: AbortSignal,
): Promise<void> {
  let lastId = after;
  let delayMs = RETRY_FIRST_MS;
  while (!signal.aborted) {
    handlers.onState?.("connecting");
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (lastId) headers["Last-Event-ID"] = lastId;
      const response = await send(new Request(prefix + path, { headers, signal }));
      if (response.body === null) throw await readError(response);
      handlers.onState?.("open");
      delayMs = RETRY_FIRST_MS;
      for await (const message of messages(response.body)) {
        if (message.id) lastId = message.id;
        handlers.onMessage(message);
      }
      handlers.onState?.("waiting");
    } catch (error) {
      if (signal.aborted) return;
      const known =
        error instanceof ApiError ? error : new ApiError(0, "unreachable", String(error));
      if (isFinal(known)) {
        handlers.onState?.("ended", known);
        return;
      }
      handlers.onState?.("waiting", known);
      if (known.retryAfterS !== null) delayMs = known.retryAfterS * 1000;
    }
    await pause(delayMs, signal);
    delayMs = Math.min(delayMs * 2, RETRY_MAX_MS);
  }
}

const isFinal = (error: ApiError): boolean => [400, 401, 403, 404].includes(error.status);

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

async function* messages(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<EventSourceMessage> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listen = () => {
    clearTimeout(timer);
    timer = setTimeout(end, SILENT_MAX_MS);
  };
  const reader = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ onComment: listen }))
    .getReader();
  const end = () => void reader.cancel();
  // The computer was asleep, or the connection was lost: this one may be dead too.
  const unsubscribe = onReturn(end);
  listen();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      listen();
      yield value;
    }
  } finally {
    clearTimeout(timer);
    unsubscribe();
  }
}
