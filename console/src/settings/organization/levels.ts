import { LEVELS, useMe } from "@/app/session";
import { words } from "@/words/settings";

export const LEVEL_NUMBERS = [LEVELS.viewer, LEVELS.member, LEVELS.admin, LEVELS.owner] as const;
export type LevelNumber = (typeof LEVEL_NUMBERS)[number];

export const levelName = (level: number): string => words.levels[level] ?? String(level);

/** The user's own level in the organization that is shown. */
export const useOwnLevel = (): number => useMe().organization?.membership_level ?? LEVELS.viewer;

/** Return the levels that a user may give others: administrators no more than their own. */
export function givenBy(level: number): LevelNumber[] {
  return LEVEL_NUMBERS.filter((one) => one <= level);
}

/** Return the option of a level. Its value is the number as text, as select elements require. */
export const levelOptions = (levels: readonly LevelNumber[]) =>
  levels.map((level) => ({ value: String(level), label: levelName(level) }));

export const levelOf = (text: string): LevelNumber =>
  LEVEL_NUMBERS.find((one) => String(one) === text) ?? LEVELS.viewer;
