import { useMemo } from "react";
import { Figure } from "@/charts";
import { nameOfRange } from "@/ui/ranges";
import { words } from "@/words/insightsPaths";
import type { ResultProps } from "../kind";
import { readGraph } from "./graph";
import { PathsGraph } from "./PathsGraph";
import { pathsTable } from "./table";

/** The paths as a graph, and as a table of its links. */
export function PathsResult({ question, answer, onOpen }: ResultProps) {
  const graph = useMemo(() => readGraph(answer), [answer]);
  return (
    <Figure
      caption={words.caption(nameOfRange(question.dates))}
      data={pathsTable({ answer })}
      fileName="paths"
    >
      {graph.steps.length === 0 ? (
        <p className="py-16 text-center text-ink-3">{words.empty}</p>
      ) : (
        <PathsGraph graph={graph} onOpen={onOpen} />
      )}
    </Figure>
  );
}
