import { useQuery } from "@tanstack/react-query";
import { ShieldCheck } from "lucide-react";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { words as rolloutWords } from "@/words/flagRollout";
import { words } from "@/words/guardedRelease";
import type { Flag } from "../model";
import { Guardrails } from "./Guardrails";
import { LazyReleaseDialog } from "./LazyReleaseDialog";
import { type Release, releaseQuery } from "./queries";
import { ReleaseActions } from "./ReleaseActions";
import { ReleaseHistory, ReleaseState } from "./ReleaseState";
import { isActive } from "./release";

/** The guarded release of the flag: its last one, or how to start one. */
export function GuardedReleaseCard({ flag }: { flag: Flag }) {
  const projectId = useProjectId();
  const query = useQuery(releaseQuery(projectId, flag.id));
  const [isStarting, setStarting] = useState(false);
  const { data: release } = query;
  return (
    <Card
      title={words.title}
      description={words.hint}
      actions={
        release && isActive(release) ? (
          <ReleaseActions flag={flag} release={release} />
        ) : (
          <Button
            icon={ShieldCheck}
            disabled={!flag.can_edit || !flag.active || release === undefined}
            title={flag.can_edit ? undefined : rolloutWords.viewer}
            onClick={() => setStarting(true)}
          >
            {release ? words.startAnother : words.start}
          </Button>
        )
      }
    >
      <Loaded query={query}>
        {(loaded) => (loaded === null ? <None flag={flag} /> : <Shown release={loaded} />)}
      </Loaded>
      {isStarting && (
        <LazyReleaseDialog flag={flag} release={null} onClose={() => setStarting(false)} />
      )}
    </Card>
  );
}

const None = ({ flag }: { flag: Flag }) => (
  <p className="text-ink-2">{flag.active ? words.none : words.flagOff}</p>
);

function Shown({ release }: { release: Release }) {
  return (
    <div className="flex flex-col gap-4">
      <ReleaseState release={release} />
      <Guardrails release={release} />
      <ReleaseHistory release={release} />
    </div>
  );
}
