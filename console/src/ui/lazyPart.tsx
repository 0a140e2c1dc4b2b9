import { type QueryClient, queryOptions, useQuery } from "@tanstack/react-query";
import type { ComponentType, ReactNode } from "react";
import { loadPart } from "@/lib/parts";
import { Loaded } from "@/ui/States";

interface LazyPart<P> {
  (props: P): ReactNode;
  /** Load it before it is shown, so that it is drawn at once. */
  load: (queries: QueryClient) => Promise<void>;
}

/** A part of a screen that is loaded when it is shown first. Where it cannot be loaded, it says so in
 * its place and offers to try again.
 *
 * name: unique in the console
 */
export function lazyPart<P extends object>(
  name: string,
  load: () => Promise<ComponentType<P>>,
  rows = 5,
): LazyPart<P> {
  const part = queryOptions({
    queryKey: ["part", name],
    queryFn: () => loadPart(load),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  // biome-ignore lint/correctness/noComponentHookFactories: called once for each part, by its module.
  function Part(props: P) {
    const query = useQuery(part);
    return (
      <Loaded query={query} rows={rows}>
        {(Content) => <Content {...props} />}
      </Loaded>
    );
  }
  Part.load = (queries: QueryClient) => queries.prefetchQuery(part);
  return Part;
}
