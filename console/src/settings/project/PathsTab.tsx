import { ArrowDown, ArrowUp, Plus, Trash2 } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import { useProjectChange } from "@/app/projectChange";
import { type Project, useIsAdmin } from "@/app/session";
import { placeOf } from "@/lib/errors";
import { Button, IconButton } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Card } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { words } from "@/words/settings";
import { type CleaningRule, cleanedPath } from "./pathCleaning";

const T = words.paths;
const EXAMPLE = "/users/42/orders/7";

/** The rules that give similar paths of pages one name, with what they make of an example. */
export function PathsTab({ project }: { project: Project }) {
  const isAdmin = useIsAdmin();
  const [rules, setRules] = useState(() => project.path_cleaning_filters.map(readRule));
  const save = useProjectChange(project, T.saved);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ path_cleaning_filters: rules.map(({ regex, alias }) => ({ regex, alias })) });
  };
  const set = (place: number, change: Partial<CleaningRule>) =>
    setRules(rules.map((rule, index) => (index === place ? { ...rule, ...change } : rule)));
  const move = (place: number, to: number) => setRules(moved(rules, place, to));
  const isSame = isEqual(rules, project.path_cleaning_filters.map(readRule));
  const wrong = placeOf(save.error, "path_cleaning_filters");
  return (
    <Card className="max-w-3xl" description={isAdmin ? T.intro : `${T.intro} ${words.onlyAdmins}`}>
      <form onSubmit={submit}>
        <fieldset disabled={!isAdmin} className="flex flex-col gap-4">
          {rules.length === 0 && <p className="text-ink-2">{T.empty}</p>}
          <ol aria-label={T.rules} className="flex flex-col gap-3 empty:hidden">
            {rules.map((rule, place) => (
              <li key={rule.id} className="flex flex-wrap items-end gap-2">
                <TextField
                  className="min-w-48 flex-1"
                  label={T.regex(place + 1)}
                  spellCheck={false}
                  required
                  value={rule.regex}
                  onChange={(event) => set(place, { regex: event.target.value })}
                />
                <TextField
                  className="min-w-36 flex-1"
                  label={T.alias(place + 1)}
                  spellCheck={false}
                  value={rule.alias}
                  onChange={(event) => set(place, { alias: event.target.value })}
                />
                <IconButton
                  icon={ArrowUp}
                  label={T.up(place + 1)}
                  disabled={place === 0}
                  onClick={() => move(place, place - 1)}
                />
                <IconButton
                  icon={ArrowDown}
                  label={T.down(place + 1)}
                  disabled={place === rules.length - 1}
                  onClick={() => move(place, place + 1)}
                />
                <IconButton
                  icon={Trash2}
                  label={T.remove(place + 1)}
                  onClick={() => setRules(rules.filter((_, index) => index !== place))}
                />
              </li>
            ))}
          </ol>
          <div>
            <Button small icon={Plus} onClick={() => setRules([...rules, newRule()])}>
              {T.add}
            </Button>
          </div>
          {rules.length > 0 && <Preview rules={rules} />}
          {save.error ? (
            <div className="flex flex-col gap-1">
              {wrong !== undefined && <p className="font-semibold">{T.wrong(wrong + 1)}</p>}
              <ErrorNote error={save.error} />
            </div>
          ) : null}
          <div>
            <Button type="submit" look="primary" isBusy={save.isPending} disabled={isSame}>
              {words.save}
            </Button>
          </div>
        </fieldset>
      </form>
    </Card>
  );
}

function Preview({ rules }: { rules: readonly CleaningRule[] }) {
  const [path, setPath] = useState(EXAMPLE);
  const id = useId();
  const { text, skipped } = cleanedPath(path, rules);
  return (
    <div className="flex flex-col gap-2">
      <TextField
        label={T.example}
        spellCheck={false}
        value={path}
        onChange={(event) => setPath(event.target.value)}
      />
      <div className="flex flex-wrap items-baseline gap-2">
        <span id={id} className="text-ink-2">
          {T.becomes}
        </span>
        <output aria-labelledby={id} className="break-all font-mono">
          {text}
        </output>
      </div>
      {skipped.length > 0 && (
        <p className="text-ink-3 text-sm">{T.skipped(skipped.map((place) => place + 1))}</p>
      )}
    </div>
  );
}

interface Row extends CleaningRule {
  id: number;
}

let lastId = 0;
function newRule(regex = "", alias = ""): Row {
  lastId += 1;
  return { id: lastId, regex, alias };
}

const readRule = (rule: Record<string, unknown>): Row =>
  newRule(String(rule.regex ?? ""), String(rule.alias ?? ""));

const isEqual = (some: readonly CleaningRule[], others: readonly CleaningRule[]): boolean =>
  some.length === others.length &&
  some.every(({ regex, alias }, place) => {
    const other = others[place];
    return regex === other?.regex && alias === other.alias;
  });

function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const rest = list.filter((_, index) => index !== from);
  return [...rest.slice(0, to), ...list.slice(from, from + 1), ...rest.slice(to)];
}
