/** The entries of a page of one item's activity. */
export const ACTIVITY_PAGE = 20;
