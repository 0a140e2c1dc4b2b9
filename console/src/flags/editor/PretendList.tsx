import { Plus, X } from "lucide-react";
import { Button, IconButton } from "@/ui/Button";
import { CONTROL } from "@/ui/classes";
import { words } from "@/words/flagEditor";

export interface Pretended {
  id: number;
  name: string;
  value: string;
}

interface PretendListProps {
  pretended: readonly Pretended[];
  onChange: (pretended: readonly Pretended[]) => void;
  groupTypeIndex: number | null;
}

/** Properties that are used in place of the stored ones. */
export function PretendList({ pretended, onChange }: PretendListProps) {
  const add = () => {
    const id = Math.max(0, ...pretended.map((one) => one.id)) + 1;
    onChange([...pretended, { id, name: "", value: "" }]);
  };
  const set = (id: number, change: Partial<Pretended>) =>
    onChange(pretended.map((one) => (one.id === id ? { ...one, ...change } : one)));
  return (
    <div className="flex flex-col gap-2">
      {pretended.length > 0 && <p className="text-ink-3 text-sm">{words.pretendHint}</p>}
      {pretended.map((one) => (
        <div key={one.id} className="flex items-center gap-1.5">
          <input
            aria-label={words.pretendProperty}
            placeholder={words.pretendProperty}
            value={one.name}
            onChange={(event) => set(one.id, { name: event.target.value })}
            className={`${CONTROL} font-mono`}
          />
          <span aria-hidden>=</span>
          <input
            aria-label={words.pretendValue}
            placeholder={words.pretendValue}
            value={one.value}
            onChange={(event) => set(one.id, { value: event.target.value })}
            className={CONTROL}
          />
          <IconButton
            icon={X}
            label={words.removePretend(one.name)}
            onClick={() => onChange(pretended.filter((other) => other.id !== one.id))}
          />
        </div>
      ))}
      <div>
        <Button small look="quiet" icon={Plus} onClick={add}>
          {words.addPretend}
        </Button>
      </div>
    </div>
  );
}

/** Return the overrides by name. 12, true, null and lists are read as JSON, others as text. */
export function pretendedValues(pretended: readonly Pretended[]): Record<string, unknown> {
  const named = pretended.filter((one) => one.name.trim() !== "");
  return Object.fromEntries(named.map((one) => [one.name.trim(), read(one.value)]));
}

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
