import { Copy, EllipsisVertical, Pencil, Trash2 } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useProjectId } from "@/app/session";
import { ApiError, describeError } from "@/lib/errors";
import { Button, IconButton } from "@/ui/Button";
import { ConflictDialog } from "@/ui/ConflictDialog";
import { Menu, MenuItem } from "@/ui/Menu";
import { toast } from "@/ui/Toast";
import { words } from "@/words/dashboards";
import { readDashboard, useDashboardChange } from "./queries";
import { isSavable, TextEditor } from "./TextEditor";
import { Markdown, TextFrame } from "./TextFrame";
import { nameOfText, showsText, type TextTileData } from "./tiles";

interface Props {
  dashboardId: number;
  tile: TextTileData;
  /** The button that moves the tile. */
  move: ReactNode;
  canEdit: boolean;
  onDuplicate: () => void;
  onRemove: () => void;
}

/** A text on a dashboard, changed in its place. */
export function TextTile(props: Props) {
  const { dashboardId, tile, move, canEdit } = props;
  const [isEditing, setEditing] = useState(false);
  const name = nameOfText(tile.text.body);
  const box = useFocusAfter(isEditing);
  if (isEditing)
    return (
      <TextFrame name={name} box={box}>
        <Editing
          dashboardId={dashboardId}
          tile={tile}
          name={name}
          onClose={() => setEditing(false)}
        />
      </TextFrame>
    );
  return (
    <TextFrame name={name} box={box}>
      <div className="min-h-0 grow overflow-auto px-4 py-3">
        {canEdit && (
          <div className="float-right -mt-1.5 -mr-2 ml-2 flex">
            {move}
            <TextMenu name={name} {...props} onEdit={() => setEditing(true)} />
          </div>
        )}
        <Markdown text={tile.text.body} />
      </div>
    </TextFrame>
  );
}

/** Returns the focus to the menu of the tile once the field is gone. */
function useFocusAfter(isEditing: boolean) {
  const box = useRef<HTMLElement>(null);
  const wasEditing = useRef(false);
  useEffect(() => {
    if (wasEditing.current && !isEditing)
      box.current?.querySelector<HTMLElement>("[aria-haspopup=menu]")?.focus();
    wasEditing.current = isEditing;
  }, [isEditing]);
  return box;
}

interface MenuProps extends Pick<Props, "onDuplicate" | "onRemove"> {
  name: string;
  onEdit: () => void;
}

const TextMenu = ({ name, onEdit, onDuplicate, onRemove }: MenuProps) => (
  <Menu
    trigger={<IconButton icon={EllipsisVertical} label={words.moreOf(name)} className="size-7" />}
  >
    <MenuItem icon={Pencil} onSelect={onEdit}>
      {words.editText}
    </MenuItem>
    <MenuItem icon={Copy} onSelect={onDuplicate}>
      {words.duplicate}
    </MenuItem>
    <MenuItem icon={Trash2} onSelect={onRemove}>
      {words.removeTile}
    </MenuItem>
  </Menu>
);

interface EditingProps extends Pick<Props, "dashboardId" | "tile"> {
  name: string;
  onClose: () => void;
}

function Editing({ dashboardId, tile, name, onClose }: EditingProps) {
  // The version being edited, so that saving does not overwrite somebody else's change.
  const [base, setBase] = useState(tile.text);
  const [text, setText] = useState(base.body);
  const { save, error, isBusy, theirs, setTheirs } = useSaving(dashboardId, tile.id, onClose);
  const isChanged = text !== base.body;
  const submit = (expected: string) => {
    if (!isChanged) onClose();
    else if (isSavable(text) && !isBusy) void save(text, expected);
  };
  return (
    <section
      aria-label={words.editingOf(name)}
      className="flex min-h-44 grow flex-col gap-2 rounded-lg bg-panel p-3"
    >
      <TextEditor
        className="grow"
        text={text}
        error={error === null ? undefined : describeError(error)}
        onChange={setText}
        onSave={() => submit(base.last_modified_at)}
        onLeave={() => !isChanged && onClose()}
      />
      <div className="flex flex-wrap justify-end gap-2">
        <Button small onClick={onClose}>
          {words.cancel}
        </Button>
        <Button
          small
          look="primary"
          isBusy={isBusy}
          disabled={!isSavable(text)}
          onClick={() => submit(base.last_modified_at)}
        >
          {words.save}
        </Button>
      </div>
      {theirs !== null && (
        <ConflictDialog
          title={words.textConflict}
          by={theirs.last_modified_by}
          mine={<Markdown text={text} />}
          theirs={<Markdown text={theirs.body} />}
          onKeepMine={() => {
            setBase(theirs);
            setTheirs(null);
            void save(text, theirs.last_modified_at);
          }}
          onKeepTheirs={onClose}
          onClose={() => setTheirs(null)}
        />
      )}
    </section>
  );
}

/** Saves a text, unless somebody else has changed it in the meantime. */
function useSaving(dashboardId: number, tileId: number, onSaved: () => void) {
  const projectId = useProjectId();
  const change = useDashboardChange(dashboardId);
  const [error, setError] = useState<unknown>(null);
  const [theirs, setTheirs] = useState<TextTileData["text"] | null>(null);
  const readAgain = async () => {
    const { tiles } = await readDashboard(projectId, dashboardId);
    const current = tiles.filter(showsText).find(({ id }) => id === tileId);
    if (current === undefined) throw new Error(words.textGone);
    setTheirs(current.text);
  };
  const save = async (body: string, expected: string) => {
    setError(null);
    try {
      const text = { body, expected_modified_at: expected };
      await change.mutateAsync({ tiles: [{ id: tileId, text }] });
      toast({ text: words.saved });
      onSaved();
    } catch (failure) {
      const code = failure instanceof ApiError ? failure.code : "";
      if (code === "conflict") await readAgain().catch(setError);
      else setError(code === "does_not_exist" ? new Error(words.textGone) : failure);
    }
  };
  return { save, error, isBusy: change.isPending, theirs, setTheirs };
}
