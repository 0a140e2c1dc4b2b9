import { Plus, Trash2 } from "lucide-react";
import { evenShares, shareSum } from "@/flags";
import { InlineWholeField } from "@/insights";
import { useStableKeys } from "@/lib/hooks";
import { Button, IconButton } from "@/ui/Button";
import { CONTROL } from "@/ui/classes";
import { words } from "@/words/experiments";
import type { Variant } from "../variants";

const WORDS = words.split;
const VARIANTS_MAX = 20;
const BASELINE = "control";

interface Props {
  variants: readonly Variant[];
  rollout: number | null;
  isReadOnly: boolean;
  onVariants: (variants: readonly Variant[]) => void;
  onRollout: (rollout: number) => void;
  error?: string | undefined;
}

/** The variants with their shares, and the share of people who take part. */
export function SplitFields(props: Props) {
  const { variants, rollout, isReadOnly, onVariants, onRollout, error } = props;
  const keys = useStableKeys(variants.length);
  const sum = shareSum(variants);
  const evened = (list: readonly Variant[]) => {
    const shares = evenShares(list.length);
    return list.map((one, place) => ({ ...one, share: shares[place] ?? 0 }));
  };
  const set = (place: number, change: Partial<Variant>) =>
    onVariants(variants.map((one, at) => (at === place ? { ...one, ...change } : one)));
  return (
    <fieldset disabled={isReadOnly} className="flex min-w-0 flex-col gap-3">
      <legend className="mb-2 font-medium">{WORDS.title}</legend>
      <ol className="flex min-w-0 max-w-lg flex-col gap-2">
        {variants.map((variant, place) => (
          <li key={keys.of(place)} className="flex min-w-0 items-start gap-2">
            <input
              aria-label={WORDS.key(place + 1)}
              value={variant.key}
              disabled={isReadOnly || variant.key === BASELINE}
              spellCheck={false}
              onChange={({ target }) => set(place, { key: target.value })}
              className={`${CONTROL} font-mono`}
            />
            <InlineWholeField
              label={WORDS.share(variant.key)}
              className="w-20 shrink-0"
              value={variant.share}
              least={0}
              most={100}
              onChange={(share) => set(place, { share })}
            />
            <span aria-hidden className="pt-1.5">
              %
            </span>
            {!isReadOnly && variants.length > 2 && (
              <IconButton
                icon={Trash2}
                label={WORDS.remove(variant.key)}
                disabled={variant.key === BASELINE}
                onClick={() => {
                  keys.remove(place);
                  onVariants(evened(variants.toSpliced(place, 1)));
                }}
              />
            )}
          </li>
        ))}
      </ol>
      {sum !== 100 && variants.length > 0 && (
        <p role="status" className="text-bad text-sm">
          {WORDS.sum(sum)}
        </p>
      )}
      {error && (
        <p role="alert" className="text-bad text-sm">
          {error}
        </p>
      )}
      {!isReadOnly && (
        <div className="flex flex-wrap gap-2">
          <Button
            small
            look="quiet"
            icon={Plus}
            disabled={variants.length >= VARIANTS_MAX}
            onClick={() => onVariants(evened([...variants, { key: newKey(variants), share: 0 }]))}
          >
            {WORDS.add}
          </Button>
          {new Set(variants.map(({ share }) => share)).size > 1 && (
            <Button small look="quiet" onClick={() => onVariants(evened(variants))}>
              {WORDS.even}
            </Button>
          )}
        </div>
      )}
      {rollout !== null && (
        <div className="flex min-w-0 flex-wrap items-center gap-1.5">
          <InlineWholeField
            label={WORDS.rollout}
            className="w-20"
            value={rollout}
            least={0}
            most={100}
            onChange={onRollout}
          />
          <span>{WORDS.ofPeople}</span>
        </div>
      )}
    </fieldset>
  );
}

/** test-2, test-3 and so on, the first one that is free. */
function newKey(variants: readonly Variant[]): string {
  const taken = new Set(variants.map(({ key }) => key));
  let number = variants.length;
  while (taken.has(`test-${number}`)) number += 1;
  return `test-${number}`;
}
