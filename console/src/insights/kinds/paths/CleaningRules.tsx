import { Plus, X } from "lucide-react";
import { useStableKeys } from "@/lib/hooks";
import { Button, IconButton } from "@/ui/Button";
import { CONTROL } from "@/ui/classes";
import { words } from "@/words/insightsPaths";
import type { Cleaning } from "./options";

interface Props {
  rules: readonly Cleaning[];
  onChange: (rules: readonly Cleaning[]) => void;
  /** place: what follows the name of the list in the API, such as `__0__regex` */
  errorAt: (place: string) => string | undefined;
}

/** Regular expressions whose matches in names are replaced, applied in order. */
export function CleaningRules({ rules, onChange, errorAt }: Props) {
  const keys = useStableKeys(rules.length);
  const error = errorAt("");
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1 font-medium">{words.cleaning}</legend>
      {rules.map((rule, place) => {
        const wrong = errorAt(`__${place}__regex`) ?? errorAt(`__${place}__alias`);
        return (
          <div key={keys.of(place)} className="flex min-w-0 flex-col gap-1">
            <div className="flex min-w-0 items-center gap-1.5">
              <input
                type="text"
                aria-label={words.regex(place + 1)}
                placeholder={words.regexPlaceholder}
                value={rule.regex}
                className={CONTROL}
                onChange={({ target }) =>
                  onChange(rules.with(place, { ...rule, regex: target.value }))
                }
              />
              <input
                type="text"
                aria-label={words.alias(place + 1)}
                placeholder={words.aliasPlaceholder}
                value={rule.alias}
                className={CONTROL}
                onChange={({ target }) =>
                  onChange(rules.with(place, { ...rule, alias: target.value }))
                }
              />
              <IconButton
                icon={X}
                label={words.removeRule(place + 1)}
                onClick={() => {
                  keys.remove(place);
                  onChange(rules.toSpliced(place, 1));
                }}
              />
            </div>
            {wrong && <p className="text-bad text-sm">{wrong}</p>}
          </div>
        );
      })}
      <div>
        <Button
          small
          look="quiet"
          icon={Plus}
          onClick={() => onChange([...rules, { regex: "", alias: "" }])}
        >
          {words.addRule}
        </Button>
      </div>
      {error && <p className="text-bad text-sm">{error}</p>}
    </fieldset>
  );
}
