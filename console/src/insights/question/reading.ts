import type { Given } from "@/lib/searchParams";
import { words } from "@/words/insightsQuestion";

/** Parses untrusted input, from a URL or a query, and collects its problems. */
export class Reading {
  readonly problems: string[] = [];

  /** Report that a value cannot be used. allowed: in words */
  refuse(place: string, value: unknown, allowed?: string): undefined {
    this.problems.push(words.unusable(place, shown(value), allowed));
    return undefined;
  }

  text(place: string, value: unknown): string | undefined {
    if (value === undefined || value === null || value === "") return undefined;
    if (typeof value === "number") return String(value);
    return typeof value === "string" ? value : this.refuse(place, value);
  }

  whole(place: string, value: unknown, least: number, most: number): number | undefined {
    if (value === undefined || value === null) return undefined;
    const number = Number(value);
    if (Number.isInteger(number) && number >= least && number <= most) return number;
    return this.refuse(place, value, words.wholeBetween(least, most));
  }

  flag(place: string, value: unknown): boolean | undefined {
    if (value === undefined || value === null) return undefined;
    return typeof value === "boolean" ? value : this.refuse(place, value, words.booleans);
  }

  choice<T extends string>(place: string, value: unknown, choices: readonly T[]): T | undefined {
    if (value === undefined || value === null || value === "") return undefined;
    return choices.find((one) => one === value) ?? this.refuse(place, value, choices.join(", "));
  }

  list(place: string, value: unknown): readonly unknown[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value;
    this.refuse(place, value, words.list);
    return [];
  }

  object(place: string, value: unknown): Given {
    if (value === undefined || value === null) return {};
    if (isObject(value)) return value;
    this.refuse(place, value, words.object);
    return {};
  }

  /** Report unknown names. */
  known(place: string, given: Given, names: readonly string[]): void {
    for (const [name, value] of Object.entries(given)) {
      if (!names.includes(name) && !isIdle(value)) this.refuse(joined(place, name), value);
    }
  }
}

export const isObject = (value: unknown): value is Given =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Values that ask for nothing. */
export const isIdle = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0);

export const joined = (place: string, name: string): string =>
  place === "" ? name : `${place}.${name}`;

const SHOWN_MAX = 60;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "";
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`;
}
