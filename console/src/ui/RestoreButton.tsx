import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { Button } from "@/ui/Button";
import { doAndSay } from "@/ui/Toast";
import { words } from "@/words/ui";

interface Props {
  /** The name of what is restored. */
  name: string;
  canRestore: boolean;
  /** Why it cannot be restored. */
  hint?: string;
  restore: () => Promise<unknown>;
  /** The notification that it was restored. */
  restored: string;
}

/** Restores what was deleted. */
export function RestoreButton({ name, canRestore, hint, restore, restored }: Props) {
  const [isBusy, setBusy] = useState(false);
  const act = async () => {
    setBusy(true);
    await doAndSay(restore, { text: restored });
    setBusy(false);
  };
  return (
    <Button
      small
      icon={RotateCcw}
      aria-label={words.restoreOf(name)}
      disabled={!canRestore}
      title={canRestore ? undefined : hint}
      isBusy={isBusy}
      onClick={() => void act()}
    >
      {words.restore}
    </Button>
  );
}
