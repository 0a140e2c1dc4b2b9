import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useProjectId } from "@/app/session";
import { toastError } from "@/ui/Toast";
import { arranged, type Box, boxesOf } from "./grid";
import { type Dashboard, dashboardKeys, sendChanges, type Tile } from "./queries";

// API clients store the layout for wide windows under this name.
const WIDE = "sm";

const layoutOf = ({ layouts }: Pick<Tile, "layouts">): Record<string, unknown> => {
  const wide = layouts[WIDE];
  return typeof wide === "object" && wide !== null ? (wide as Record<string, unknown>) : {};
};

// A heading needs no more.
const LEAST_ROWS_OF_TEXTS = 1;

interface Placed extends Pick<Tile, "id" | "layouts"> {
  text?: unknown;
}

export const storedBoxes = (tiles: readonly Placed[]): Box[] =>
  boxesOf(
    tiles.map((tile) => ({
      id: tile.id,
      layout: layoutOf(tile),
      least: tile.text ? LEAST_ROWS_OF_TEXTS : undefined,
    })),
  );

/** Return the layouts of a new tile in the given place. */
export const layoutsAt = (place: Omit<Box, "id" | "least">): Tile["layouts"] => ({ [WIDE]: place });

/** The tiles' positions. Changes show at once and are saved one after another. */
export function useLayout(dashboard: Dashboard) {
  const { tiles } = dashboard;
  const [own, setOwn] = useState<readonly Box[] | null>(null);
  const store = useStoring(dashboard);
  const stored = storedBoxes(tiles);
  const isSame = own !== null && sameIds(own, stored);
  const boxes = isSame ? arranged(own) : stored;
  return {
    boxes,
    /** Shows positions that are not saved yet, for example during a drag. */
    preview: setOwn,
    place: (next: readonly Box[]) => {
      setOwn(next);
      store(next);
    },
  };
}

const sameIds = (a: readonly Box[], b: readonly Box[]): boolean =>
  a.length === b.length && a.every(({ id }) => b.some((other) => other.id === id));

function useStoring(dashboard: Dashboard): (boxes: readonly Box[]) => void {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const waiting = useRef<readonly Box[] | null>(null);
  const isSending = useRef(false);
  const latest = useRef(dashboard);
  useEffect(() => {
    latest.current = dashboard;
  }, [dashboard]);
  const send = async () => {
    isSending.current = true;
    while (waiting.current !== null) {
      const tiles = changedTiles(latest.current.tiles, waiting.current);
      waiting.current = null;
      if (tiles.length === 0) continue;
      const key = dashboardKeys.one(projectId, dashboard.id);
      try {
        await sendChanges(projectId, dashboard.id, { tiles });
        const layouts = new Map(tiles.map((tile) => [tile.id, tile.layouts]));
        queries.setQueryData<Dashboard>(key, (before) =>
          before === undefined ? before : withLayouts(before, layouts),
        );
        latest.current = withLayouts(latest.current, layouts);
      } catch (error) {
        toastError(error);
        await queries.invalidateQueries({ queryKey: key });
      }
    }
    isSending.current = false;
  };
  return (boxes) => {
    waiting.current = boxes;
    if (!isSending.current) void send();
  };
}

function changedTiles(tiles: readonly Tile[], boxes: readonly Box[]) {
  return tiles.flatMap((tile) => {
    const box = boxes.find(({ id }) => id === tile.id);
    if (box === undefined) return [];
    const before = layoutOf(tile);
    const { id, least: _, ...place } = box;
    const isSame = Object.entries(place).every(([name, value]) => before[name] === value);
    return isSame ? [] : [{ id, layouts: { ...tile.layouts, [WIDE]: { ...before, ...place } } }];
  });
}

const withLayouts = (
  dashboard: Dashboard,
  layouts: ReadonlyMap<number, Tile["layouts"]>,
): Dashboard => ({
  ...dashboard,
  tiles: dashboard.tiles.map((tile) => ({
    ...tile,
    layouts: layouts.get(tile.id) ?? tile.layouts,
  })),
});
