import type { ReactNode } from "react";
import { classes } from "@/ui/classes";

export type Tone = "neutral" | "good" | "warn" | "bad" | "info" | "accent";

const TONES: Record<Tone, string> = {
  neutral: "bg-sunken text-ink-2",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  info: "bg-info-soft text-info",
  accent: "bg-accent-soft text-accent-text",
};

/** A state or a tag in one or two words. */
export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={classes(
        "inline-flex max-w-full items-center gap-1 truncate rounded px-1.5 py-px font-medium text-[0.8rem]",
        TONES[tone],
      )}
    >
      {children}
    </span>
  );
}

/** Something that the user must know before going on. */
interface NoticeProps {
  tone?: Tone;
  className?: string;
  children: ReactNode;
}

export function Notice({ tone = "info", className, children }: NoticeProps) {
  return <div className={classes("rounded-md px-3 py-2", TONES[tone], className)}>{children}</div>;
}
