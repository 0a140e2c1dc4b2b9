import { choiceOf, type Given, present } from "@/lib/searchParams";

export const ACCOUNT_TABS = ["profile", "password", "factor", "sessions", "keys"] as const;
export const ORGANIZATION_TABS = ["members", "invites", "roles", "signIn", "general"] as const;
export const PROJECT_TABS = [
  "general",
  "keys",
  "ingestion",
  "testAccounts",
  "paths",
  "webhooks",
  "transfer",
] as const;

/** Return the reader of an address whose only parameter is the name of a tab. */
export const tabIn =
  <T extends string>(tabs: readonly T[]) =>
  (given: Given) =>
    present<{ tab?: T }>({ tab: choiceOf(tabs, given.tab) });
