import type { LucideIcon } from "lucide-react";

/** What the command menu finds and does. */
export interface Command {
  id: string;
  title: string;
  /** Heading that it stands below: "Feature flags". */
  group: string;
  /** At the right: a key, an address, a state. */
  hint?: string;
  icon?: LucideIcon;
  /** Other words that it is found by. */
  keywords?: readonly string[];
  /** Address of the console to go to. */
  to?: string;
  /** Or what it does. */
  run?: () => unknown;
}

export interface CommandContext {
  projectId: string;
  canEdit: boolean;
  signal: AbortSignal;
}

/** A feature's commands for what the user has typed; "" before anything is typed. */
export type CommandSource = (text: string, context: CommandContext) => Promise<readonly Command[]>;
