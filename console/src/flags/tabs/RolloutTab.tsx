import type { Flag } from "../model";
import { RollbackCard } from "./RollbackCard";
import { ScheduleCard } from "./ScheduleCard";

/** The automatic changes of the flag: at a time, or when a number passes a limit. */
export function RolloutTab({ flag }: { flag: Flag }) {
  return (
    <div className="flex flex-col gap-4">
      <ScheduleCard flag={flag} />
      <RollbackCard flag={flag} />
    </div>
  );
}
