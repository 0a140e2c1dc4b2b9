import { words } from "@/words/events";

/** A type in words. */
export function typeName(type: string | null): string {
  const found = Object.entries(words.types).find(([name]) => name === type);
  return found?.[1] ?? words.types.unknown;
}

/** Return the type of a value, named as in property definitions. */
export function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "list";
  switch (typeof value) {
    case "number":
      return "Numeric";
    case "boolean":
      return "Boolean";
    case "string":
      return "String";
    default:
      return value === null ? "unknown" : "object";
  }
}
