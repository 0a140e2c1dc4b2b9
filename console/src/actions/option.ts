export interface ActionChoice {
  id: number;
  name: string;
}

// No event can have these names, because names are trimmed.
export const actionOption = ({ id, name }: ActionChoice): string => ` ${id} ${name}`;

/** Return the action of an option, or null if the option is an event. */
export function actionIn(value: string): ActionChoice | null {
  const [, id, name] = /^ (\d+) (.*)$/s.exec(value) ?? [];
  return id === undefined || name === undefined ? null : { id: Number(id), name };
}
