import { words } from "@/words/properties";

const FLAG = "$feature/";
const INITIAL = "$initial_";

/** The plain name of a property that clients or the server set; others are called as they are. */
export function plainName(name: string): string {
  const known = Object.hasOwn(words.names, name) ? words.names[name] : undefined;
  if (known !== undefined) return known;
  if (name.startsWith(FLAG)) return words.ofFlag(name.slice(FLAG.length));
  if (name.startsWith(INITIAL)) {
    const later = name.slice(INITIAL.length);
    const plain = words.names[`$${later}`] ?? words.names[later];
    if (plain !== undefined) return words.first(plain.charAt(0).toLowerCase() + plain.slice(1));
  }
  return name;
}

export function isSystemName(name: string): boolean {
  return name.startsWith("$");
}
