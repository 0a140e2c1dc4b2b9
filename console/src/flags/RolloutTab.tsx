import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { Loaded } from "@/ui/States";
import type { Flag } from "./model";
import { GuardedReleaseCard } from "./release/GuardedReleaseCard";
import { releaseQuery } from "./release/queries";
import { RollbackCard } from "./tabs/RollbackCard";
import { ScheduleCard } from "./tabs/ScheduleCard";

/** The automatic changes of the flag: step by step, at a time, or when a number passes a limit.
 *
 * They appear together with the release, whose height is not known before. */
export function RolloutTab({ flag }: { flag: Flag }) {
  const release = useQuery(releaseQuery(useProjectId(), flag.id));
  return (
    <Loaded query={release} rows={10}>
      {() => (
        <div className="flex flex-col gap-4">
          <GuardedReleaseCard flag={flag} />
          <ScheduleCard flag={flag} />
          <RollbackCard flag={flag} />
        </div>
      )}
    </Loaded>
  );
}
