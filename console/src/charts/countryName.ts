const names = new Intl.DisplayNames(navigator.language, { type: "region", fallback: "code" });
const CODE = /^[a-z]{2}$/i;

/** Return a country's name by its two-letter code; any other text is returned unchanged. */
export const countryName = (code: string): string =>
  CODE.test(code) ? (names.of(code.toUpperCase()) ?? code) : code;
