import { Trash2 } from "lucide-react";
import { useState } from "react";
import { AskIconLink } from "@/insights";
import { errorOf } from "@/lib/errors";
import { IconButton } from "@/ui/Button";
import { CONTROL } from "@/ui/classes";
import { words } from "@/words/flagEditor";
import { changedVariant, type Rules, type Variant } from "../model";
import { valueQuestion } from "../questions";
import { ShareInput } from "./NumberInput";
import { PayloadField } from "./PayloadField";
import type { OnProblem } from "./problems";
import { removedVariant, renamedVariant, withPayload } from "./variants";

const CELL = "block px-1 py-1 align-top sm:table-cell";
// On phones each field has its own line, except that the button sits next to the share.
const WIDE = `${CELL} max-sm:col-span-2`;

export interface VariantsProps {
  rules: Rules;
  onChange: (rules: Rules) => void;
  error: unknown;
  /** Null for a new flag. */
  savedKey: string | null;
  canEdit: boolean;
  onProblem: OnProblem;
}

export function VariantTable(props: VariantsProps) {
  return (
    <table aria-label={words.variantTable} className="block w-full sm:table">
      <thead className="sr-only sm:not-sr-only">
        <tr className="text-left text-ink-2 text-sm">
          <th className="px-1 font-normal">{words.key}</th>
          <th className="px-1 font-normal">{words.name}</th>
          <th className="px-1 font-normal">{words.shareColumn}</th>
          <th className="px-1 font-normal">{words.payload}</th>
          <td />
        </tr>
      </thead>
      <tbody className="block sm:table-row-group">
        {props.rules.variants.map((variant, place) => (
          <Row key={variant.id} {...props} variant={variant} place={place} />
        ))}
      </tbody>
    </table>
  );
}

function Row(props: VariantsProps & { variant: Variant; place: number }) {
  const { rules, onChange, variant, place, savedKey, canEdit, error } = props;
  const set = (change: Parameters<typeof changedVariant>[1]) =>
    onChange({
      ...rules,
      variants: rules.variants.map((one) => (one === variant ? changedVariant(one, change) : one)),
    });
  return (
    <tr className="grid grid-cols-[1fr_auto] items-center border-line border-b py-1 last:border-b-0 sm:table-row sm:border-0">
      <td className={WIDE}>
        <KeyInput {...props} />
      </td>
      <td className={WIDE}>
        <input
          aria-label={words.variantName(place + 1)}
          placeholder={words.name}
          value={variant.name}
          disabled={!canEdit}
          onChange={(event) => set({ name: event.target.value })}
          className={CONTROL}
        />
      </td>
      <td className={`${CELL} sm:w-24`}>
        <span className="flex flex-wrap items-center gap-1">
          <ShareInput
            label={words.variantShare(place + 1)}
            className="!w-16"
            value={variant.share}
            disabled={!canEdit}
            onChange={(share) => set({ share })}
            onProblem={props.onProblem}
          />
          <span aria-hidden>%</span>
        </span>
      </td>
      <td className={`${WIDE} sm:w-1/3`}>
        <PayloadField
          payloadKey={variant.key}
          payload={rules.payloads[variant.key]}
          error={error}
          canEdit={canEdit}
          onChange={(text) => onChange(withPayload(rules, variant.key, text))}
          onProblem={props.onProblem}
        />
      </td>
      <td className={`${CELL} max-sm:col-start-2 max-sm:row-start-3 sm:w-19`}>
        <span className="flex justify-end">
          {savedKey !== null && (
            <AskIconLink
              about={valueQuestion(savedKey, variant.key)}
              label={words.askVariant(variant.key)}
            />
          )}
          {canEdit && rules.variants.length > 1 && (
            <IconButton
              icon={Trash2}
              label={words.removeVariant(variant.key)}
              onClick={() => onChange(removedVariant(rules, variant.id))}
            />
          )}
        </span>
      </td>
    </tr>
  );
}

/** A key is taken over while it is one: payloads and conditions go by it. */
function KeyInput(props: VariantsProps & { variant: Variant; place: number }) {
  const { rules, onChange, variant, place, canEdit, error } = props;
  const [typed, setTyped] = useState<string | null>(null);
  const problem = typed === null ? null : problemOf(typed, props);
  const said = problem ?? errorOf(error, `filters__multivariate__variants__${place}__key`);
  const change = (key: string) => {
    setTyped(key);
    if (problemOf(key, props) === null) onChange(renamedVariant(rules, variant.id, key.trim()));
  };
  return (
    <>
      <input
        aria-label={words.variantKey(place + 1)}
        aria-invalid={said ? true : undefined}
        placeholder={words.key}
        value={typed ?? variant.key}
        disabled={!canEdit}
        spellCheck={false}
        onChange={(event) => change(event.target.value)}
        onBlur={() => setTyped(null)}
        className={`${CONTROL} font-mono`}
      />
      {said && (
        <p role="alert" className="text-bad text-sm">
          {said}
        </p>
      )}
    </>
  );
}

function problemOf(key: string, { rules, variant }: VariantsProps & { variant: Variant }) {
  if (key.trim() === "") return words.variantBlank;
  const isTaken = rules.variants.some((one) => one.id !== variant.id && one.key === key.trim());
  return isTaken ? words.variantTaken : null;
}
