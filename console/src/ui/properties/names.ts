import { words } from "@/words/properties";

const FLAG = "$feature/";
const INITIAL = "$initial_";

/** The plain name of a property that clients or the server set; others are called as they are. */
export function plainName(name: string): string {
  const known = listed(name);
  if (known !== undefined) return known;
  if (name.startsWith(FLAG)) return words.ofFlag(name.slice(FLAG.length));
  if (name.startsWith(INITIAL)) {
    const later = name.slice(INITIAL.length);
    const plain = listed(`$${later}`) ?? listed(later);
    if (plain !== undefined) return words.first(plain);
  }
  return name;
}

function listed(name: string): string | undefined {
  return Object.hasOwn(words.names, name) ? words.names[name] : undefined;
}

export function isSystemName(name: string): boolean {
  return name.startsWith("$");
}
