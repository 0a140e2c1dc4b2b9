export const TOOL_BUTTON =
  "inline-flex items-center gap-1.5 rounded-md px-2 py-1 text-[0.8125rem] text-ink-2 hover:bg-sunken hover:text-ink disabled:opacity-50";
export const ICON_BUTTON =
  "inline-flex size-6 shrink-0 items-center justify-center rounded text-ink-2 hover:bg-line hover:text-ink disabled:opacity-30";
