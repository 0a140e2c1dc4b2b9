/** What the server has written into the page. */
const given = (name: string): string =>
  document.querySelector(`meta[name="fanion-${name}"]`)?.getAttribute("content") ?? "";

/** The path below which the server is reached, without a slash at its end: "" mostly. */
export const prefix: string = given("prefix");

/** The address of the documentation, or null if the server does not have it. */
export const docsAddress: string | null = given("docs") === "built" ? `${prefix}/docs/` : null;
