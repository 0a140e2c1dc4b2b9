/** Class names, without what is absent. */
export function classes(...names: (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}

// The classes of every control that takes text: in a row all are of one height.
export const CONTROL =
  "not-[textarea]:h-[2.25rem] w-full rounded-md border border-line-strong bg-panel px-2.5 py-1.5 text-ink disabled:bg-sunken disabled:text-ink-3 aria-invalid:border-bad";

// The classes of everything that floats above the page.
export const FLOATING = "z-50 rounded-lg border border-line bg-panel text-ink shadow-float";

export const MENU_ITEM =
  "flex cursor-pointer select-none items-center gap-2 rounded-md px-2.5 py-1.5 outline-none data-[highlighted]:bg-sunken data-[disabled]:cursor-default data-[disabled]:text-ink-3";

/** Where a menu or a tooltip is put into the page: the landmark, or the dialog, that its trigger is
 * in, so that all that is shown stays within one.
 */
export function overlayContainer(trigger: Element | null): HTMLElement | null {
  return trigger?.closest<HTMLElement>('[role="dialog"], main, header, nav') ?? null;
}
