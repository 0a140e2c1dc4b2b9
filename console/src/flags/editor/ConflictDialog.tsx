import { useState } from "react";
import { FormDialog } from "@/ui/Dialog";
import { words } from "@/words/flagEditor";
import { isObject, readCondition } from "../model";
import { conditionParts, type Names, sentenceText } from "../sentence";
import type { Fields } from "./fields";
import { type Choices, type Collision, merge } from "./merge";

interface ConflictDialogProps {
  base: Fields;
  mine: Fields;
  theirs: Fields;
  names: Names;
  onResolve: (fields: Fields) => void;
  onClose: () => void;
}

/** Conflicting changes of a flag side by side. Nothing is lost before the user chooses. */
export function ConflictDialog(props: ConflictDialogProps) {
  const { base, mine, theirs, names, onResolve, onClose } = props;
  const [choices, setChoices] = useState<Choices>({});
  const merged = merge(base, mine, theirs, choices);
  const isChosen = merged.collisions.every((one) => choices[one.id] !== undefined);
  return (
    <FormDialog
      isOpen
      wide
      onClose={onClose}
      title={words.conflictTitle}
      description={words.conflictHint}
      submit={words.putTogether}
      canSubmit={isChosen}
      onSubmit={() => onResolve(merged.fields)}
    >
      {merged.collisions.map((collision) => (
        <CollisionChoice
          key={collision.id}
          collision={collision}
          names={names}
          chosen={choices[collision.id]}
          onChoose={(choice) => setChoices({ ...choices, [collision.id]: choice })}
        />
      ))}
    </FormDialog>
  );
}

interface CollisionProps {
  collision: Collision;
  names: Names;
  chosen: "mine" | "theirs" | undefined;
  onChoose: (choice: "mine" | "theirs") => void;
}

function CollisionChoice({ collision, names, chosen, onChoose }: CollisionProps) {
  const sides = [
    { side: "mine", title: words.mine, take: words.takeMine },
    { side: "theirs", title: words.theirs, take: words.takeTheirs },
  ] as const;
  return (
    <fieldset>
      <legend className="mb-1 font-medium">{titleOf(collision)}</legend>
      <div className="grid gap-2 sm:grid-cols-2">
        {sides.map(({ side, title, take }) => (
          <label
            key={side}
            className="flex flex-col gap-2 rounded-md border border-line p-3 has-checked:border-accent has-checked:bg-accent-soft"
          >
            <span className="flex items-center gap-2">
              <input
                type="radio"
                name={collision.id}
                checked={chosen === side}
                onChange={() => onChoose(side)}
                aria-label={`${take}: ${titleOf(collision)}`}
                className="accent-accent"
              />
              <strong>{title}</strong>
            </span>
            <span className="flex flex-col gap-1">
              {linesOf(collision, collision[side], names).map((line) => (
                <bdi key={line}>{line}</bdi>
              ))}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function titleOf({ part, name }: Collision): string {
  if (part === "payload") return words.payloadOf(name);
  if (part !== "setting") return words.collisionParts[part];
  const settings: Readonly<Record<string, string>> = words.settingNames;
  return settings[name] ?? name;
}

function linesOf({ part }: Collision, value: unknown, names: Names): string[] {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return [words.nothing];
  if (Array.isArray(value)) return value.map((one) => lineOf(part, one, names));
  return [lineOf(part, value, names)];
}

function lineOf(part: Collision["part"], value: unknown, names: Names): string {
  if (part === "conditions" && isObject(value)) {
    const condition = readCondition(value);
    if (condition !== null) return sentenceText(conditionParts(condition, null, names));
  }
  if (part === "variants" && isObject(value)) return `${value.key}: ${value.rollout_percentage}%`;
  return typeof value === "string" ? value : JSON.stringify(value);
}
