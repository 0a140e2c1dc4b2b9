import { ChartLine, Plus, Type } from "lucide-react";
import { useState } from "react";
import { Button } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";
import { words } from "@/words/dashboards";
import { AddInsight } from "./AddInsight";
import { AddText } from "./AddText";
import type { Dashboard } from "./queries";

interface Props {
  dashboard: Dashboard;
  canEdit: boolean;
}

/** A menu that adds a saved insight or a text to the dashboard. */
export function AddTile({ dashboard, canEdit }: Props) {
  const [adding, setAdding] = useState<"insight" | "text" | null>(null);
  const close = () => setAdding(null);
  return (
    <>
      <Menu
        trigger={
          <Button icon={Plus} disabled={!canEdit} title={canEdit ? undefined : words.noRight}>
            {words.addTile}
          </Button>
        }
      >
        <MenuItem icon={ChartLine} onSelect={() => setAdding("insight")}>
          {words.addInsight}
        </MenuItem>
        <MenuItem icon={Type} onSelect={() => setAdding("text")}>
          {words.addText}
        </MenuItem>
      </Menu>
      {adding === "insight" && <AddInsight dashboard={dashboard} onClose={close} />}
      {adding === "text" && <AddText dashboard={dashboard} onClose={close} />}
    </>
  );
}
