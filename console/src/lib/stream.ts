import type { EventSourceMessage } from "eventsource-parser";
import { type Connection, readStream, type StreamHandlers } from "@/lib/connection";
import { ApiError } from "@/lib/errors";
import { prefix } from "@/lib/prefix";
import { words } from "@/words/ui";

// A browser opens six connections to a server over HTTP/1.1: half of them are for requests.
const STREAMS_MAX = 3;

/** A note that the tabs of a browser exchange about a stream. */
type Note =
  | { kind: "joined" }
  | { kind: "state"; state: Connection; error: PlainError | null }
  | { kind: "message"; message: EventSourceMessage };

interface PlainError {
  status: number;
  code: string;
  detail: string;
}

interface Options {
  /** Reads on while the page is hidden. */
  evenHidden?: boolean;
}

/** Read the server-sent events of a path of the API until the returned function is called. All tabs of
 * the browser share one connection for each path: one of them holds it and tells the others, and when
 * it closes or is hidden, another takes over after the last message. While a page is hidden it reads
 * nothing; it is then sent what it missed, as far as the server still has it.
 */
export function openStream(
  path: string,
  handlers: StreamHandlers,
  { evenHidden = false }: Options = {},
): () => void {
  const reader = { lastId: "" };
  const noting: StreamHandlers = {
    ...handlers,
    onMessage: (message) => {
      if (message.id) reader.lastId = message.id;
      handlers.onMessage(message);
    },
  };
  let reading: AbortController | null = null;
  const turn = () => {
    const isWanted = evenHidden || !document.hidden;
    if (isWanted && reading === null) {
      reading = new AbortController();
      void share(path, noting, reader, reading.signal);
    } else if (!isWanted) {
      reading?.abort();
      reading = null;
    }
  };
  turn();
  document.addEventListener("visibilitychange", turn);
  return () => {
    document.removeEventListener("visibilitychange", turn);
    reading?.abort();
  };
}

async function share(
  path: string,
  handlers: StreamHandlers,
  reader: { lastId: string },
  signal: AbortSignal,
): Promise<void> {
  // Browsers have no locks on plain http, but for this computer's own addresses.
  if (navigator.locks === undefined) return readStream(path, handlers, reader.lastId, signal);
  const name = `fanion.stream ${prefix}${path}`;
  const channel = new BroadcastChannel(name);
  signal.addEventListener("abort", () => channel.close());
  channel.onmessage = ({ data }: MessageEvent<Note>) => follow(data, handlers);
  handlers.onState?.("connecting");
  channel.postMessage({ kind: "joined" } satisfies Note);
  const lead = () =>
    withSlot(
      signal,
      () => readStream(path, leading(channel, handlers, signal), reader.lastId, signal),
      () => handlers.onState?.("waiting", tooMany()),
    );
  await unlessAborted(navigator.locks.request(name, { signal }, lead));
}

/** Pass a note of the tab that holds the connection to the handlers of this tab. */
function follow(note: Note, handlers: StreamHandlers): void {
  if (note.kind === "message") handlers.onMessage(note.message);
  if (note.kind !== "state") return;
  const { state, error } = note;
  handlers.onState?.(
    state,
    error === null ? undefined : new ApiError(error.status, error.code, error.detail),
  );
}

/** Return handlers that also tell the other tabs. An end concerns only this tab: the next one tries by
 * itself, and asks its own user.
 */
function leading(
  channel: BroadcastChannel,
  handlers: StreamHandlers,
  signal: AbortSignal,
): StreamHandlers {
  let now: Note = { kind: "state", state: "connecting", error: null };
  const tell = (note: Note) => {
    // A closed channel refuses notes.
    if (!signal.aborted) channel.postMessage(note);
  };
  let last: Note | null = null;
  channel.onmessage = ({ data }: MessageEvent<Note>) => {
    if (data.kind !== "joined") return;
    tell(now);
    // A stream of versions begins with the current one.
    if (last !== null) tell(last);
  };
  return {
    onMessage: (message) => {
      last = { kind: "message", message };
      tell(last);
      handlers.onMessage(message);
    },
    onState: (state, error) => {
      now = { kind: "state", state, error: error === undefined ? null : plain(error) };
      if (state !== "ended") tell(now);
      handlers.onState?.(state, error);
    },
  };
}

const plain = ({ status, code, detail }: ApiError): PlainError => ({ status, code, detail });
const tooMany = () => new ApiError(429, "too_many_streams", words.tooManyStreams);

/** Do work with one of the browser's connections for streams, as soon as one is free. */
async function withSlot(
  signal: AbortSignal,
  work: () => Promise<void>,
  onWait: () => void,
): Promise<void> {
  const slots = Array.from({ length: STREAMS_MAX }, (_, number) => `fanion.streams ${number}`);
  for (const slot of slots) {
    const isDone = await navigator.locks.request(slot, { ifAvailable: true }, async (lock) => {
      if (lock !== null) await work();
      return lock !== null;
    });
    if (isDone) return;
  }
  onWait();
  const chosen = new AbortController();
  const either = AbortSignal.any([signal, chosen.signal]);
  const take = async () => {
    if (chosen.signal.aborted) return;
    chosen.abort();
    await work();
  };
  await Promise.all(
    slots.map((slot) => unlessAborted(navigator.locks.request(slot, { signal: either }, take))),
  );
}

async function unlessAborted(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!(error instanceof DOMException && error.name === "AbortError")) throw error;
  }
}
