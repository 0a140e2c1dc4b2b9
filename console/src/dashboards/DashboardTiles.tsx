import type { Given } from "@/lib/searchParams";
import { doAndSay } from "@/ui/Toast";
import { words } from "@/words/dashboards";
import { Grid } from "./Grid";
import { InsightTile } from "./InsightTile";
import { layoutsAt, storedBoxes, useLayout } from "./layout";
import { type Dashboard, type Tile, useDashboardChange } from "./queries";
import type { Scope } from "./scope";
import { TextTile } from "./TextTile";
import { nameOfText, nameOfTile, showsInsight, showsText, type TextTileData } from "./tiles";

interface Props {
  dashboard: Dashboard;
  /** null if the dashboard's filter cannot be shown */
  scope: Scope | null;
  /** Whether the scope is the dashboard's own, with which its answers came. */
  isKeptScope: boolean;
  /** Whether tiles can be moved, changed and removed here. */
  canEdit: boolean;
  /** Incremented to refetch all tiles. */
  round: number;
  /** The tile and number whose persons are shown. */
  behind: Given | undefined;
  onBehind: (behind: Given | undefined) => void;
}

/** The tiles of a dashboard in their places. */
export function DashboardTiles({ dashboard, canEdit, ...shown }: Props) {
  const layout = useLayout(dashboard);
  const remove = useRemoval(dashboard);
  const duplicate = useDuplication(dashboard);
  const { tile: behindId, ...behind } = shown.behind ?? {};
  const tiles = dashboard.tiles.map((tile) => ({
    id: tile.id,
    name: nameOfTile(tile),
    draw: ({ move, height }: { move: React.ReactNode; height: number }) => {
      if (showsInsight(tile))
        return (
          <InsightTile
            dashboardId={dashboard.id}
            tile={tile}
            scope={shown.scope}
            isKeptScope={shown.isKeptScope}
            move={move}
            height={height}
            round={shown.round}
            behind={behindId === tile.id ? behind : undefined}
            onBehind={(place) => shown.onBehind(place && { ...place, tile: tile.id })}
            onRemove={canEdit ? () => void remove(tile) : undefined}
          />
        );
      if (!showsText(tile)) return null;
      return (
        <TextTile
          dashboardId={dashboard.id}
          tile={tile}
          move={move}
          canEdit={canEdit}
          onDuplicate={() => void duplicate(tile)}
          onRemove={() => void remove(tile)}
        />
      );
    },
  }));
  return (
    <Grid
      boxes={layout.boxes}
      tiles={tiles}
      canMove={canEdit}
      onPreview={layout.preview}
      onPlace={layout.place}
    />
  );
}

/** Remove a tile, with a toast to undo it. */
function useRemoval(dashboard: Dashboard) {
  const change = useDashboardChange(dashboard.id);
  return (tile: Tile) =>
    doAndSay(() => change.mutateAsync({ tiles: [{ id: tile.id, deleted: true }] }), {
      text: words.removedTile(nameOfTile(tile)),
      undo: () => change.mutateAsync({ tiles: [{ id: tile.id, deleted: false }] }),
    });
}

/** Put a copy of a text below it. */
function useDuplication(dashboard: Dashboard) {
  const change = useDashboardChange(dashboard.id);
  return ({ id, text, color }: TextTileData) => {
    const box = storedBoxes(dashboard.tiles).find((one) => one.id === id);
    const { x = 0, y = 0, w = 6, h = 2 } = box ?? {};
    const copy = { text: { body: text.body }, color, layouts: layoutsAt({ x, y: y + h, w, h }) };
    return doAndSay(() => change.mutateAsync({ tiles: [copy] }), {
      text: words.duplicatedTile(nameOfText(text.body)),
    });
  };
}
