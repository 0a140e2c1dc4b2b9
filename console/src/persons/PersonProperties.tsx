import { Ellipsis, History, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useCanEdit } from "@/app/session";
import { Button, IconButton } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";
import { Card } from "@/ui/Page";
import { PropertiesTable } from "@/ui/properties";
import { words } from "@/words/persons";
import { PropertyDialog } from "./PropertyDialog";
import { PropertyHistory } from "./PropertyHistory";
import type { Person } from "./queries";
import { usePropertyChanges } from "./usePropertyChanges";

const WORDS = words.properties;

type Open = { kind: "add" } | { kind: "edit" | "history"; name: string } | null;

export function PersonProperties({ person }: { person: Person }) {
  const canEdit = useCanEdit();
  const [open, setOpen] = useState<Open>(null);
  const changes = usePropertyChanges(person);
  const hint = canEdit ? undefined : words.viewerHint;
  const close = () => setOpen(null);
  return (
    <Card
      actions={
        <Button
          icon={Plus}
          disabled={!canEdit}
          title={hint}
          onClick={() => setOpen({ kind: "add" })}
        >
          {WORDS.add}
        </Button>
      }
    >
      <PropertiesTable
        label={WORDS.label}
        properties={person.properties}
        empty={WORDS.empty}
        actions={(name) => (
          <Menu
            trigger={<IconButton icon={Ellipsis} label={WORDS.actions(name)} className="size-7" />}
          >
            <MenuItem icon={History} onSelect={() => setOpen({ kind: "history", name })}>
              {WORDS.history}
            </MenuItem>
            <MenuItem
              icon={Pencil}
              disabled={!canEdit}
              onSelect={() => setOpen({ kind: "edit", name })}
            >
              {WORDS.edit}
            </MenuItem>
            <MenuItem
              icon={Trash2}
              isDanger
              disabled={!canEdit}
              onSelect={() => changes.remove(name)}
            >
              {WORDS.remove}
            </MenuItem>
          </Menu>
        )}
      />
      {open?.kind === "add" && <PropertyDialog person={person} name={null} onClose={close} />}
      {open?.kind === "edit" && <PropertyDialog person={person} name={open.name} onClose={close} />}
      {open?.kind === "history" && (
        <PropertyHistory personId={person.id} name={open.name} onClose={close} />
      )}
    </Card>
  );
}
