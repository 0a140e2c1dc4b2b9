import { useProjectId } from "@/app/session";
import { Button } from "@/ui/Button";
import { CsvButton } from "@/ui/table";
import { words } from "@/words/web";
import { Age } from "./Age";
import { everyValue, valueColumns } from "./allRows";
import type { Breakdown } from "./breakdowns";
import type { View } from "./view";

interface Props {
  by: Breakdown;
  view: View;
  at: string | null;
}

/** Links to what a panel has beyond its first rows. */
export function PanelFooter({ by, view, at }: Props) {
  const projectId = useProjectId();
  return (
    <div className="mt-2 flex flex-wrap items-center gap-x-2 gap-y-1">
      <Button
        small
        look="quiet"
        onClick={() => view.change({ all: by })}
        aria-label={words.showAllOf(words.titles[by].toLowerCase())}
        className="-ms-2"
      >
        {words.showAll}
      </Button>
      <CsvButton
        columns={valueColumns(by, view)}
        source={{
          fileName: words.csvOf(words.titles[by]),
          all: (signal) => everyValue(projectId, view, by, undefined, signal),
        }}
      />
      <span className="ms-auto">
        <Age at={at} />
      </span>
    </div>
  );
}
