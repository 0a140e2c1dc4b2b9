import { queryOptions, useQuery } from "@tanstack/react-query";
import type { ComponentType } from "react";
import { loadPart } from "@/lib/parts";
import { Loaded } from "@/ui/States";

/** A part of a screen that is loaded when it is shown first. Where it cannot be loaded, it says so in
 * its place and offers to try again.
 *
 * name: unique in the console
 */
export function lazyPart<P extends object>(
  name: string,
  load: () => Promise<ComponentType<P>>,
  rows = 5,
): ComponentType<P> {
  const part = queryOptions({
    queryKey: ["part", name],
    queryFn: () => loadPart(load),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  // biome-ignore lint/correctness/noComponentHookFactories: called once for each part, by its module.
  return function Part(props: P) {
    const query = useQuery(part);
    return (
      <Loaded query={query} rows={rows}>
        {(Content) => <Content {...props} />}
      </Loaded>
    );
  };
}
