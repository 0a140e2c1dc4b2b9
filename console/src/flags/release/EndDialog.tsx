import { useState } from "react";
import { FormDialog } from "@/ui/Dialog";
import { RadioList } from "@/ui/RadioList";
import { toast } from "@/ui/Toast";
import { words } from "@/words/guardedRelease";
import { type Flag, isObjects } from "../model";
import { changeFlag, filtersToSend, isConflict } from "../queries";
import { actOnRelease, type Release, useReleaseChange } from "./queries";
import { formerOf } from "./release";

const TEXTS = words.ending;
type How = "stay" | "back" | "everyone";

interface Props {
  flag: Flag;
  release: Release;
  onClose: () => void;
}

/** Ends a release: what becomes of the rollout is chosen. */
export function EndDialog({ flag, release, onClose }: Props) {
  const [how, setHow] = useState<How>("stay");
  const now = release.rollout_percentage;
  const former = formerOf(release);
  const last = release.steps.at(-1)?.rollout_percentage ?? 100;
  const end = useReleaseChange(flag.id, async (projectId, chosen: How) => {
    // Before the release ends, so that a conflict leaves all as it is.
    if (chosen === "back") await setShare(projectId, flag, release);
    return actOnRelease(flag.id)(projectId, chosen === "everyone" ? "complete" : "cancel");
  });
  const said = {
    stay: words.done.cancelled,
    back: words.done.rolledBack(former),
    everyone: words.done.completed(last),
  };
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={TEXTS.title}
      submit={TEXTS.submit}
      isBusy={end.isPending}
      error={isConflict(end.error) ? new Error(TEXTS.conflict) : end.error}
      onSubmit={() =>
        end.mutate(how, {
          onSuccess: () => {
            onClose();
            toast({ text: said[how] });
          },
        })
      }
    >
      <RadioList
        label={TEXTS.how}
        value={how}
        options={[
          { value: "stay", label: TEXTS.stay(now), hint: TEXTS.stayHint },
          { value: "back", label: TEXTS.back(former), hint: TEXTS.backHint },
          { value: "everyone", label: TEXTS.everyone(last), hint: TEXTS.everyoneHint },
        ]}
        onChange={setHow}
      />
    </FormDialog>
  );
}

/** Sets the percentage before the release, unless the flag has changed since. */
async function setShare(projectId: string, flag: Flag, release: Release): Promise<void> {
  const { groups } = flag.filters;
  if (!isObjects(groups)) throw new Error(TEXTS.conflict);
  const share = release.former_rollout_percentage;
  const changed = groups.map((group, place) =>
    place === release.condition_index ? { ...group, rollout_percentage: share } : group,
  );
  const filters = filtersToSend({ ...flag.filters, groups: changed });
  await changeFlag(projectId, flag.id, { filters, version: flag.version });
}
