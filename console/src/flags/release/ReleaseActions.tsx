import { Ellipsis, ListPlus, Pause, Play, RefreshCw, Square } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/guardedRelease";
import type { Flag } from "../model";
import { EndDialog } from "./EndDialog";
import { LazyReleaseDialog } from "./LazyReleaseDialog";
import { type Act, actOnRelease, type Release, useReleaseChange } from "./queries";

interface Props {
  flag: Flag;
  release: Release;
}

/** What can be done with a release that has not ended. */
export function ReleaseActions({ flag, release }: Props) {
  const [isEnding, setEnding] = useState(false);
  const [isChanging, setChanging] = useState(false);
  const act = useReleaseChange(flag.id, actOnRelease(flag.id));
  const canEdit = flag.can_edit;
  const run = (what: Act, said: string) =>
    act.mutate(what, { onSuccess: () => toast({ text: said }), onError: toastError });
  const isPaused = release.state === "paused";
  return (
    <>
      {isPaused ? (
        <Button
          icon={Play}
          look="primary"
          disabled={!canEdit}
          isBusy={act.isPending}
          onClick={() => run("resume", words.done.resumed)}
        >
          {words.resume}
        </Button>
      ) : (
        <>
          <Button
            icon={RefreshCw}
            disabled={!canEdit}
            isBusy={act.isPending && act.variables === "check"}
            onClick={() => run("check", words.done.checked)}
          >
            {words.checkNow}
          </Button>
          <Button
            icon={Pause}
            disabled={!canEdit || act.isPending}
            onClick={() => run("pause", words.done.paused)}
          >
            {words.pause}
          </Button>
        </>
      )}
      <Menu trigger={<IconButton icon={Ellipsis} label={words.more} look="default" />}>
        <MenuItem icon={ListPlus} disabled={!canEdit} onSelect={() => setChanging(true)}>
          {words.change}
        </MenuItem>
        <MenuItem icon={Square} isDanger disabled={!canEdit} onSelect={() => setEnding(true)}>
          {words.end}
        </MenuItem>
      </Menu>
      {isChanging && (
        <LazyReleaseDialog flag={flag} release={release} onClose={() => setChanging(false)} />
      )}
      {isEnding && <EndDialog flag={flag} release={release} onClose={() => setEnding(false)} />}
    </>
  );
}
