const TABS = ["targeting", "rollout", "usage", "activity", "access"] as const;
export type FlagTab = (typeof TABS)[number];

/** The hash of an address that begins with trying the flag. */
export const TRY_IT = "try";

export interface FlagSearch {
  tab?: FlagTab;
  /** The distinct id or e-mail address for which the flag is tried. */
  try?: string;
}

/** The state of a flag's page in its address. */
export function flagSearch(found: Record<string, unknown>): FlagSearch {
  const tab = TABS.find((one) => one === found.tab);
  const who = found.try;
  return {
    ...(tab !== undefined && tab !== "targeting" && { tab }),
    ...((typeof who === "string" || typeof who === "number") && who !== "" && { try: String(who) }),
  };
}
