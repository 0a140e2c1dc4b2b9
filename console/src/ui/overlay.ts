/** Where a menu or a tooltip is put into the page: the landmark, or the dialog, that its trigger is
 * in, so that all that is shown stays within one.
 */
export function overlayContainer(trigger: Element | null): HTMLElement | null {
  return trigger?.closest<HTMLElement>('[role="dialog"], main, header, nav') ?? null;
}
