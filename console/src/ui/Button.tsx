import { createLink } from "@tanstack/react-router";
import { LoaderCircle, type LucideIcon } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { classes } from "@/ui/classes";
import { Tooltip } from "@/ui/Tooltip";

type Look = "primary" | "default" | "quiet" | "danger";

const LOOKS: Record<Look, string> = {
  primary: "border-transparent bg-accent text-accent-ink hover:bg-accent-hover",
  default: "border-line-strong bg-panel text-ink hover:bg-sunken",
  quiet: "border-transparent bg-transparent text-ink-2 hover:bg-sunken hover:text-ink",
  danger: "border-bad bg-panel text-bad hover:bg-bad-soft",
};
const SHAPE =
  "inline-flex items-center justify-center gap-1.5 whitespace-nowrap rounded-md border font-medium disabled:border-line disabled:bg-sunken disabled:text-ink-3";

export interface ButtonProps extends Omit<ComponentProps<"button">, "children"> {
  look?: Look;
  icon?: LucideIcon;
  small?: boolean;
  /** Work is under way: shown, and a second press does nothing. */
  isBusy?: boolean;
  children: ReactNode;
}

export function Button(props: ButtonProps) {
  const { look = "default", icon: Icon, small, isBusy, className, children, ...rest } = props;
  const size = small ? "px-2 py-0.5 text-sm" : "px-3 py-1.5";
  return (
    <button
      type="button"
      {...rest}
      disabled={rest.disabled || isBusy}
      aria-busy={isBusy || undefined}
      className={classes(SHAPE, LOOKS[look], size, className)}
    >
      {isBusy ? (
        <LoaderCircle aria-hidden className="size-4 animate-spin" />
      ) : (
        Icon && <Icon aria-hidden className="size-4 shrink-0" />
      )}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ComponentProps<"button">, "children"> {
  icon: LucideIcon;
  /** Its name: read to those who do not see it, and shown when it is pointed at. */
  label: string;
  look?: Look;
}

export function IconButton({
  icon: Icon,
  label,
  look = "quiet",
  className,
  ...rest
}: IconButtonProps) {
  return (
    <Tooltip text={label}>
      <button
        type="button"
        {...rest}
        aria-label={label}
        className={classes(SHAPE, LOOKS[look], "size-8 shrink-0", className)}
      >
        <Icon aria-hidden className="size-4" />
      </button>
    </Tooltip>
  );
}

interface LinkLooks extends Omit<ComponentProps<"a">, "children"> {
  look?: Look;
  icon?: LucideIcon;
  small?: boolean;
  children?: ReactNode;
}

function AnchorButton({
  look = "default",
  icon: Icon,
  small,
  className,
  children,
  ...rest
}: LinkLooks) {
  const size = small ? "px-2 py-0.5 text-sm" : "px-3 py-1.5";
  return (
    <a {...rest} className={classes(SHAPE, LOOKS[look], size, className)}>
      {Icon && <Icon aria-hidden className="size-4 shrink-0" />}
      {children}
    </a>
  );
}

/** Looks like a button and leads elsewhere: `to`, `params` and `search` as of the router's Link. */
export const LinkButton = createLink(AnchorButton);
