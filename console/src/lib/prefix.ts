/** The path below which the server is reached, without a slash at its end: "" mostly. */
export const prefix: string =
  document.querySelector('meta[name="fanion-prefix"]')?.getAttribute("content") ?? "";
