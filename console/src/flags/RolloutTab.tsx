import { lazyPart } from "@/ui/lazyPart";
import type { Flag } from "./model";
import { RollbackCard } from "./tabs/RollbackCard";
import { ScheduleCard } from "./tabs/ScheduleCard";

const GuardedReleaseCard = lazyPart(
  "guarded release",
  async () => (await import("./release/GuardedReleaseCard")).GuardedReleaseCard,
);

/** The automatic changes of the flag: step by step, at a time, or when a number passes a limit. */
export function RolloutTab({ flag }: { flag: Flag }) {
  return (
    <div className="flex flex-col gap-4">
      <GuardedReleaseCard flag={flag} />
      <ScheduleCard flag={flag} />
      <RollbackCard flag={flag} />
    </div>
  );
}
