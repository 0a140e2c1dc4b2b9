import { countryName } from "@/charts/countryName";
import { cut } from "@/ui/properties/safeText";
import { words } from "@/words/web";
import type { Breakdown } from "./breakdowns";
import type { Value } from "./conditions";

export interface Name {
  text: string;
  /** The larger unit it belongs to, such as the country of a city. */
  detail?: string;
  /** Whether there is no value. */
  isNone?: true;
}

const LOCALE = navigator.language;
const regions = new Intl.DisplayNames(LOCALE, { type: "region", fallback: "none" });
const languages = new Intl.DisplayNames(LOCALE, {
  type: "language",
  fallback: "none",
  languageDisplay: "standard",
});

/** Return the display name of a row. */
export function nameOf(by: Breakdown, value: Value): Name {
  if (value === null || (isList(value) && value.every((part) => part === null)))
    return { text: words.none(by), isNone: true };
  if (!isList(value)) return { text: plainName(by, value) };
  const [first, ...others] = value;
  if (by === "Viewport") return { text: value.map((part) => part ?? words.unknown).join(" × ") };
  const own = others.toReversed().find((part) => part !== null);
  const country = first == null ? undefined : countryName(String(first));
  if (own === undefined) return { text: words.none(by), ...(country && { detail: country }) };
  return { text: String(own), ...(country !== undefined && { detail: country }) };
}

const isList = (value: Value): value is readonly (string | number | null)[] => Array.isArray(value);

function plainName(by: Breakdown, value: string | number | null): string {
  const text = String(value);
  if (by === "Country") return countryName(text);
  if (by === "Language") return known(languages, text) ?? text;
  if (by === "Timezone") return offsetName(Number(value));
  const isReferrer = by === "InitialReferringDomain" || by === "PreviousPage";
  return isReferrer && text === "$direct" ? words.direct : text;
}

/** Values come from clients and may not be valid codes. */
function known(names: Intl.DisplayNames, code: string): string | undefined {
  try {
    return names.of(code);
  } catch {
    return undefined;
  }
}

/** 5.5 as "UTC+5:30". */
function offsetName(hours: number): string {
  const minutes = Math.round(Math.abs(hours) * 60);
  const rest = minutes % 60 === 0 ? "" : `:${String(minutes % 60).padStart(2, "0")}`;
  return `UTC${hours < 0 ? "−" : "+"}${Math.floor(minutes / 60)}${rest}`;
}

const A = 65;
const LETTERS = 26;

/** Return the codes of countries whose name or code contains the text. */
export function countriesNamed(text: string): string[] {
  const wanted = text.toLocaleLowerCase(LOCALE);
  const codes = Array.from({ length: LETTERS ** 2 }, (_, place) =>
    String.fromCharCode(A + Math.floor(place / LETTERS), A + (place % LETTERS)),
  );
  return codes.filter((code) => {
    const name = known(regions, code);
    return (
      code.toLowerCase() === wanted || name?.toLocaleLowerCase(LOCALE).includes(wanted) === true
    );
  });
}

/** Return the name of a row as one string. */
export function wholeName(by: Breakdown, value: Value): string {
  const { text, detail } = nameOf(by, value);
  return detail === undefined ? text : words.within(text, detail);
}

const SHOWN_CHARS = 200;

/** Return a text shortened to fit in a row. */
export const shortened = (text: string): string =>
  text.length > SHOWN_CHARS ? `${cut(text, SHOWN_CHARS)}…` : text;
