import type { SqlRows } from "./rows";
import type { Shown } from "./shown";

export interface RowsViewProps {
  rows: SqlRows;
  shown: Shown;
  /** The height of a tile, in pixels. */
  height?: number | undefined;
}
