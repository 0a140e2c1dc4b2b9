import { actionIn } from "@/actions";
import { isTexts } from "@/lib/storage";
import type { Column } from "@/ui/table";
import { words } from "@/words/web";
import type { ApiGoal, Row } from "./queries";
import { GOALS_MAX } from "./search";

/** The key under which the browser keeps the goals of a project. */
export const storageOf = (projectId: string): string => `web goals ${projectId}`;

export const isGoals = (found: unknown): found is string[] =>
  isTexts(found) && found.length <= GOALS_MAX;

/** The name of the event or the action of a goal. */
export const nameOfGoal = (goal: string): string => actionIn(goal)?.name ?? goal;

/** Return a goal as the API has it. */
export function apiGoalOf(goal: string): ApiGoal {
  const action = actionIn(goal);
  return action === null ? { customEventName: goal } : { actionId: action.id };
}

const COLUMNS = ["converting_users", "total_conversions", "conversion_rate"];

/** Return the columns of the file of goals. */
export function goalColumns(isCompared: boolean): Column<Row>[] {
  const goal = { id: "goal", header: words.goal };
  const places = isCompared ? [0, 1] : [0];
  return [
    { ...goal, cell: ({ value }) => String(value), text: ({ value }) => String(value) },
    ...COLUMNS.flatMap((column) => places.map((place) => numberColumn(column, place))),
  ];
}

function numberColumn(column: string, place: number): Column<Row> {
  const header = words.columns[column] ?? column;
  const text = ({ numbers }: Row) => numbers[column]?.[place] ?? null;
  const name = place === 0 ? header : words.before(header);
  return { id: `${column} ${place}`, header: name, cell: text, text };
}
