import type { ReactNode } from "react";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { words } from "@/words/ui";

interface Props {
  title: string;
  /** Who saved the other version, if it is known. */
  by: { first_name: string; email: string | null } | null | undefined;
  mine: ReactNode;
  theirs: ReactNode;
  onKeepMine: () => void;
  onKeepTheirs: () => void;
  onClose: () => void;
}

/** Shows both versions side by side. Neither is lost until the user chooses. */
export function ConflictDialog(props: Props) {
  const by = props.by?.first_name || props.by?.email || "?";
  return (
    <Dialog
      isOpen
      wide
      onClose={props.onClose}
      title={props.title}
      description={words.conflictHint}
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <Side title={words.conflictMine}>{props.mine}</Side>
        <Side title={words.conflictTheirs(by)}>{props.theirs}</Side>
      </div>
      <div className="mt-4 flex flex-wrap justify-end gap-2">
        <Button onClick={props.onKeepTheirs}>{words.keepTheirs}</Button>
        <Button look="primary" data-confirms onClick={props.onKeepMine}>
          {words.keepMine}
        </Button>
      </div>
    </Dialog>
  );
}

const Side = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="min-w-0 rounded-md border border-line p-3">
    <h3 className="mb-1 font-medium">
      <bdi>{title}</bdi>
    </h3>
    {children}
  </section>
);
