import { RotateCcw, Trash2 } from "lucide-react";
import { useCanEdit } from "@/app/session";
import { Button } from "@/ui/Button";
import { toast, toastError } from "@/ui/Toast";

interface Options {
  onSuccess: () => void;
  onError: (error: Error) => void;
}

interface Props {
  item: { name: string; deleted: boolean };
  words: {
    viewerHint: string;
    remove: string;
    removed: (name: string) => string;
    restore: string;
    restored: (name: string) => string;
  };
  change: {
    isPending: boolean;
    mutate: (body: { deleted: boolean }, options: Options) => void;
  };
}

/** Deletes an item, or restores a deleted one. */
export function DeletionButton({ item, words, change }: Props) {
  const canEdit = useCanEdit();
  const { label, done } = item.deleted
    ? { label: words.restore, done: words.restored }
    : { label: words.remove, done: words.removed };
  const onClick = () =>
    change.mutate(
      { deleted: !item.deleted },
      { onSuccess: () => toast({ text: done(item.name) }), onError: toastError },
    );
  return (
    <Button
      icon={item.deleted ? RotateCcw : Trash2}
      disabled={!canEdit}
      title={canEdit ? undefined : words.viewerHint}
      isBusy={change.isPending}
      onClick={onClick}
    >
      {label}
    </Button>
  );
}
