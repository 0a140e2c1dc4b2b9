import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useProjectId } from "@/app/session";
import { Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Visible } from "@/ui/properties";
import { CSV_TYPE, csvLine, download } from "@/ui/table";
import { words } from "@/words/cohorts";
import { formatNumber } from "@/words/format";
import { type Calculation, type Cohort, calculationsQuery } from "./queries";

const WORDS = words.upload;
const SHOWN_MAX = 20;

/** The result of the newest import, with the rows that matched no person. */
export function LastImport({ cohort }: { cohort: Cohort }) {
  const history = useQuery(calculationsQuery(useProjectId(), cohort.id, cohort.last_calculation));
  const uploaded = history.data?.find((one) => one.uploaded !== null)?.uploaded;
  return uploaded ? <Result uploaded={uploaded} /> : null;
}

function Result({ uploaded }: { uploaded: NonNullable<Calculation["uploaded"]> }) {
  const { matched, rows, unmatched, unmatched_count: rejected } = uploaded;
  const shown = unmatched.slice(0, SHOWN_MAX);
  const save = () =>
    download(
      WORDS.rejectedName,
      unmatched.map((value) => csvLine([value])),
      CSV_TYPE,
    );
  return (
    <Notice tone={rejected > 0 ? "warn" : "good"}>
      <p>{WORDS.result(matched, formatNumber(rows))}</p>
      {rejected > 0 && (
        <>
          <p>{WORDS.rejected(rejected)}</p>
          <ul aria-label={WORDS.rejectedLabel} className="my-1 flex flex-wrap gap-x-4">
            {shown.map((value) => (
              <li key={value} className="min-w-0">
                <Visible text={value} />
              </li>
            ))}
            {unmatched.length > shown.length && (
              <li>{WORDS.rejectedMore(unmatched.length - shown.length)}</li>
            )}
          </ul>
          {unmatched.length > 0 && (
            <Button small icon={Download} onClick={save}>
              {WORDS.rejectedSave}
            </Button>
          )}
        </>
      )}
    </Notice>
  );
}
