import type { FigureData } from "@/charts";
import { plainName } from "@/ui/properties";
import { words } from "@/words/insightsPaths";
import type { Asked } from "../kind";
import { readGraph, splitKey } from "./graph";

/** The numbers of paths: one row per link, and one per step at which paths ended. */
export function pathsTable({ answer }: Pick<Asked, "answer">): FigureData {
  const { steps, links } = readGraph(answer);
  const isOther = new Set(steps.filter((step) => step.isOther).map(({ key }) => key));
  const nameOf = (key: string) => (isOther.has(key) ? words.other : plainName(splitKey(key).name));
  const rows = [
    ...links.map(({ source, target, count, seconds }) => ({
      column: splitKey(source).column,
      count,
      row: [
        words.fromTo(splitKey(source).column, nameOf(source), nameOf(target)),
        count,
        seconds === null ? null : Math.round(seconds * 10) / 10,
      ],
    })),
    ...steps
      .filter(({ ended }) => ended > 0)
      .map(({ key, column, ended }) => ({
        column,
        count: ended,
        row: [words.fromTo(column, nameOf(key), words.endOf), ended, null],
      })),
  ];
  return {
    columns: words.columns,
    rows: rows.toSorted((a, b) => a.column - b.column || b.count - a.count).map(({ row }) => row),
  };
}
