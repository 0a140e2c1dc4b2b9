import type { LucideIcon } from "lucide-react";

/** A command of the command menu. */
export interface Command {
  id: string;
  title: string;
  /** Heading that it stands below: "Feature flags". */
  group: string;
  /** A text at the right: a key, an address, a state. */
  hint?: string;
  icon?: LucideIcon;
  /** Other words that it is found by. */
  keywords?: readonly string[];
  /** The path of the console to go to. */
  to?: string;
  /** The action, for a command without a link. */
  run?: () => unknown;
}

export interface CommandContext {
  projectId: string;
  canEdit: boolean;
  signal: AbortSignal;
}

/** A feature's commands for what the user has typed; "" before anything is typed. */
export type CommandSource = (text: string, context: CommandContext) => Promise<readonly Command[]>;
