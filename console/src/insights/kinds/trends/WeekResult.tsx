import { Figure } from "@/charts";
import type { ResultProps } from "../kind";
import { WeekGrid } from "./WeekGrid";
import { readWeek, weekPlace, weekTable } from "./week";

export interface WeekResultProps extends ResultProps {
  caption: (what: string) => string;
}

/** A trend by weekday and hour. */
export function WeekResult({ caption, ...props }: WeekResultProps) {
  const week = readWeek(props);
  if (week === null) return null;
  const { onOpen } = props;
  return (
    <Figure caption={caption(week.name)} data={weekTable(props)} fileName="trend">
      <WeekGrid
        week={week}
        onOpen={onOpen && ((weekday, hour) => onOpen(weekPlace(weekday, hour)))}
      />
    </Figure>
  );
}
