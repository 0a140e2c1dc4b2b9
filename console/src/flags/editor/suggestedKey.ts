const CHARS_MAX = 60;

/** A key for a name: "New check-out (beta)" as new-check-out-beta. */
export function suggestedKey(name: string): string {
  const plain = name.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  const key = plain.replaceAll(/[^a-z0-9_]+/g, "-").slice(0, CHARS_MAX);
  return key.replaceAll(/^-+|-+$/g, "");
}
