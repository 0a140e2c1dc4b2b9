/** Id of the project in the address, which the paths of the API begin with. */
export function projectInAddress(): string {
  return /\/project\/([^/]+)/.exec(window.location.pathname)?.[1] ?? "@current";
}
