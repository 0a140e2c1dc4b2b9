import { type KnownAnswer, nameOfInsight } from "@/insights";
import { cut } from "@/ui/properties/safeText";
import { words } from "@/words/dashboards";
import type { Tile } from "./queries";

export type InsightTileData = Tile & { insight: NonNullable<Tile["insight"]> };
export type TextTileData = Tile & { text: NonNullable<Tile["text"]> };

export const showsInsight = (tile: Tile): tile is InsightTileData => Boolean(tile.insight);
export const showsText = (tile: Tile): tile is TextTileData => Boolean(tile.text);

const NAME_CHARS = 60;

/** Return the first words of a text, without the signs of Markdown. */
export function nameOfText(body: string): string {
  const lines = body.split("\n").map((line) =>
    line
      .replace(/^[\s#>*+-]+/, "")
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replace(/[*_`~]/g, "")
      .trim(),
  );
  const first = lines.find((line) => line !== "") ?? "";
  if (first === "") return words.text;
  return first.length > NAME_CHARS ? `${cut(first, NAME_CHARS)}…` : first;
}

export function nameOfTile(tile: Tile): string {
  if (showsInsight(tile)) return nameOfInsight(tile.insight);
  return showsText(tile) ? nameOfText(tile.text.body) : words.text;
}

/** Return the answer that came with the dashboard; undefined if it was never calculated. */
export function answerOf({ insight, beside, last_refresh: at }: InsightTileData) {
  if (at === null) return undefined;
  const { result: results, timezone: zone } = insight;
  return { results, beside, zone, calculatedAt: new Date(at) } satisfies KnownAnswer;
}
