import { useCallback, useEffect, useRef, useState } from "react";
import { askSql, type SqlAnswer, type SqlQuery } from "./answer";

/** A run of a query. asked: null before the first; error: null while there is none */
interface Run {
  asked: SqlQuery | null;
  answer: SqlAnswer | null;
  error: unknown;
  isRunning: boolean;
  isCancelled: boolean;
}

const FIRST: Run = {
  asked: null,
  answer: null,
  error: null,
  isRunning: false,
  isCancelled: false,
};

/** Runs queries one at a time. Another run, and leaving the screen, cancel the one before. */
export function useRun(projectId: string) {
  const [state, setState] = useState(FIRST);
  const running = useRef<AbortController | null>(null);
  const cancel = useCallback(() => {
    running.current?.abort();
    setState((before) => ({ ...before, isRunning: false, isCancelled: before.isRunning }));
  }, []);
  const run = useCallback(
    async (asked: SqlQuery, isNew: boolean) => {
      running.current?.abort();
      const controller = new AbortController();
      running.current = controller;
      setState((before) => ({ ...before, error: null, isRunning: true, isCancelled: false }));
      try {
        const answer = await askSql(projectId, asked, isNew, controller.signal);
        if (!controller.signal.aborted) setState({ ...FIRST, asked, answer });
        return !controller.signal.aborted;
      } catch (error) {
        if (!controller.signal.aborted) setState({ ...FIRST, asked, error });
        return false;
      }
    },
    [projectId],
  );
  useEffect(() => () => running.current?.abort(), []);
  return { ...state, run, cancel };
}
