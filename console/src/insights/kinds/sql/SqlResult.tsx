import { useMemo } from "react";
import type { ResultProps } from "../kind";
import { optionsOf } from "./query";
import { RowsView } from "./RowsView";
import { rowsOfAnswer } from "./rows";

/** The answer to a saved query. */
export function SqlResult({ question, answer, height }: ResultProps) {
  const rows = useMemo(() => rowsOfAnswer(answer), [answer]);
  return <RowsView rows={rows} shown={optionsOf(question).shown} height={height} />;
}
