import { words } from "@/words/persons";

export const VALUE_TYPES = ["text", "number", "boolean", "json"] as const;
export type ValueType = (typeof VALUE_TYPES)[number];

export function typeOf(value: unknown): ValueType {
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "boolean";
  return typeof value === "string" || value === undefined ? "text" : "json";
}

export function textOf(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

type Read = { ok: true; value: unknown } | { ok: false; problem: string };

/** Return the typed text as a value of this type. */
export function readValue(type: ValueType, text: string): Read {
  switch (type) {
    case "text":
      return { ok: true, value: text };
    case "boolean":
      return { ok: true, value: text === "true" };
    case "number": {
      const number = Number(text);
      const isNumber = text.trim() !== "" && Number.isFinite(number);
      return isNumber
        ? { ok: true, value: number }
        : { ok: false, problem: words.properties.notANumber };
    }
    case "json":
      try {
        return { ok: true, value: JSON.parse(text) };
      } catch (error) {
        return { ok: false, problem: String(error) };
      }
  }
}
