const names = new Intl.DisplayNames(navigator.language, { type: "region", fallback: "code" });
const CODE = /^[a-z]{2}$/i;

/** Return the name of a country, by its code of two letters; other texts stay as they are. */
export const countryName = (code: string): string =>
  CODE.test(code) ? (names.of(code.toUpperCase()) ?? code) : code;
