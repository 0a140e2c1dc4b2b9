import { Drawer } from "@/ui/Drawer";
import { lazyPart } from "@/ui/lazyPart";
import { words } from "@/words/insights";
import type { ActorsTableProps } from "./ActorsTable";

const ActorsTable = lazyPart<ActorsTableProps>(
  "actors",
  async () => (await import("./ActorsTable")).default,
  8,
);

interface Props extends ActorsTableProps {
  /** The number in words: of what, when, how much. */
  description: string;
  onClose: () => void;
}

/** The persons or groups behind a number, to open, save as a cohort, or download. */
export function ActorsDrawer({ description, onClose, ...table }: Props) {
  return (
    <Drawer
      title={table.ofGroups ? words.groups : words.persons}
      description={<bdi>{description}</bdi>}
      onClose={onClose}
    >
      <ActorsTable {...table} />
    </Drawer>
  );
}
