import type { CommandSource } from "@/lib/commands";

export const commands: CommandSource = () => Promise.resolve([]);
