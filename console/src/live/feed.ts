import type { EventSourceMessage } from "eventsource-parser";
import type { Connection } from "@/lib/connection";
import type { ApiError } from "@/lib/errors";
import { openStream } from "@/lib/stream";
import {
  type LiveEvent,
  readEvent,
  readSample,
  readSkipped,
  type Sample,
  type Skipped,
} from "./liveEvent";

export const EVENTS_MAX = 1000;
const SAMPLE_SHOWN_MS = 3000;
const RATE_MS = 10_000;

/** events: the newest first; waiting: how many came since it is held */
export interface FeedState {
  events: readonly LiveEvent[];
  waiting: number;
  connection: Connection;
  hasOpened: boolean;
  /** How often the stream was opened again without an event to go on from. */
  gaps: number;
  error: ApiError | null;
  sample: Sample | null;
  skipped: Skipped | null;
  /** The rate over the last ten seconds. */
  perSecond: number;
}

const NOTHING: FeedState = {
  events: [],
  waiting: 0,
  connection: "connecting",
  hasOpened: false,
  gaps: 0,
  error: null,
  sample: null,
  skipped: null,
  perSecond: 0,
};

/** The newest events of a stream. What comes within a frame is shown at once, so that a busy stream
 * costs one drawing a frame.
 */
export class Feed {
  private state = NOTHING;
  private came: LiveEvent[] = [];
  private isHeld = false;
  private frame = 0;
  private sampleTimer = 0;
  private moments: number[] = [];
  private readonly listeners = new Set<() => void>();
  private readonly seen = new Set<string>();

  readonly read = (): FeedState => this.state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Returns what ends it. */
  follow(
    path: string,
    isWanted: (event: LiveEvent) => boolean,
    options: { evenHidden: boolean },
  ): () => void {
    const handlers = {
      onMessage: (message: EventSourceMessage) => this.take(message, isWanted),
      onState: (connection: Connection, error?: ApiError) => this.note(connection, error),
    };
    const stop = openStream(path, handlers, options);
    const ticks = window.setInterval(() => this.measure(), 1000);
    return () => {
      stop();
      window.clearInterval(ticks);
      window.clearTimeout(this.sampleTimer);
      cancelAnimationFrame(this.frame);
      this.frame = 0;
    };
  }

  /** While the feed is held, new events are only counted. */
  hold(isHeld: boolean): void {
    this.isHeld = isHeld;
    if (!isHeld) this.show();
  }

  clear(): void {
    this.came = [];
    this.set({ events: [], waiting: 0, skipped: null });
  }

  private take(message: EventSourceMessage, isWanted: (event: LiveEvent) => boolean): void {
    if (message.event === "sample") this.takeSample(readSample(message.data));
    else if (message.event === "skipped") this.set({ skipped: readSkipped(message.data) });
    else {
      const event = readEvent(message.data);
      if (event === null || this.seen.has(event.id) || !isWanted(event)) return;
      this.keep(event);
      if (this.frame === 0) this.frame = requestAnimationFrame(() => this.show());
    }
  }

  private note(connection: Connection, error: ApiError | undefined): void {
    const isOpen = connection === "open";
    const isGap = isOpen && this.state.hasOpened && this.seen.size === 0;
    this.set({
      connection,
      hasOpened: this.state.hasOpened || isOpen,
      gaps: this.state.gaps + Number(isGap),
      error: error ?? null,
    });
  }

  private keep(event: LiveEvent): void {
    this.seen.add(event.id);
    // An id that comes again does so at once: those that came first are forgotten.
    if (this.seen.size > 2 * EVENTS_MAX) {
      for (const id of [...this.seen].slice(0, EVENTS_MAX)) this.seen.delete(id);
    }
    this.came.push(event);
    this.moments.push(Date.now());
    if (this.came.length > 2 * EVENTS_MAX) this.came = this.came.slice(-EVENTS_MAX);
    if (this.isHeld) this.waitingCame += 1;
  }

  private waitingCame = 0;

  private show(): void {
    this.frame = 0;
    if (this.isHeld) {
      this.set({ waiting: this.waitingCame });
      return;
    }
    const newest = this.came.reverse();
    this.came = [];
    this.waitingCame = 0;
    const events = [...newest, ...this.state.events].slice(0, EVENTS_MAX);
    this.set({ events, waiting: 0 });
  }

  private takeSample(sample: Sample | null): void {
    window.clearTimeout(this.sampleTimer);
    this.set({ sample });
    this.sampleTimer = window.setTimeout(() => this.set({ sample: null }), SAMPLE_SHOWN_MS);
  }

  private measure(): void {
    const since = Date.now() - RATE_MS;
    this.moments = this.moments.filter((moment) => moment > since);
    const perSecond = this.moments.length / (RATE_MS / 1000);
    if (perSecond !== this.state.perSecond) this.set({ perSecond });
  }

  private set(changes: Partial<FeedState>): void {
    this.state = { ...this.state, ...changes };
    for (const listener of this.listeners) listener();
  }
}
