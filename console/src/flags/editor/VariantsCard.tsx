import { Plus } from "lucide-react";
import { useRef } from "react";
import { ShareBar } from "@/charts";
import { AskIconLink } from "@/insights";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { words } from "@/words/flagEditor";
import { type Rules, shareSum } from "../model";
import { valueQuestion } from "../questions";
import { PayloadField } from "./PayloadField";
import { type VariantsProps, VariantTable } from "./VariantTable";
import { addedVariant, evenedOut, multivariate, withoutVariants, withPayload } from "./variants";

/** The card of the variants: what people who get the flag get. */
export function VariantsCard(props: VariantsProps) {
  const { rules, onChange, savedKey, canEdit } = props;
  const isBoolean = rules.variants.length === 0;
  // Keeps the values of the other kind in case the choice is reverted.
  const former = useRef<Rules | null>(null);
  const toKind = (kind: "boolean" | "multivariate") => {
    const next =
      kind === "boolean"
        ? withoutVariants(rules, former.current)
        : multivariate(rules, former.current);
    former.current = rules;
    onChange(next);
  };
  return (
    <Card
      title={words.variants}
      description={words.variantsHint}
      actions={
        isBoolean &&
        savedKey !== null && (
          <AskIconLink about={valueQuestion(savedKey, "true")} label={words.askVariant("true")} />
        )
      }
    >
      <div className="flex flex-col gap-3">
        <Kind isBoolean={isBoolean} canEdit={canEdit} onChange={toKind} />
        {isBoolean ? (
          <PayloadField
            payloadKey="true"
            payload={rules.payloads.true}
            error={props.error}
            canEdit={canEdit}
            onChange={(text) => onChange(withPayload(rules, "true", text))}
            onProblem={props.onProblem}
          />
        ) : (
          <>
            <VariantTable {...props} />
            <Sum {...props} />
            <ShareBar
              label={words.split}
              shares={rules.variants.map(({ key, share }) => ({ name: key, value: share }))}
            />
          </>
        )}
      </div>
    </Card>
  );
}

function Sum({ rules, onChange, canEdit }: VariantsProps) {
  const sum = shareSum(rules.variants);
  return (
    <div className="flex flex-wrap items-center gap-2">
      {canEdit && (
        <>
          <Button icon={Plus} small onClick={() => onChange(addedVariant(rules, words.newVariant))}>
            {words.addVariant}
          </Button>
          <Button small onClick={() => onChange(evenedOut(rules))}>
            {words.even}
          </Button>
        </>
      )}
      <p role="status" className={sum === 100 ? "sr-only" : "font-medium text-bad text-sm"}>
        {sum === 100 ? "" : words.sum(sum)}
      </p>
    </div>
  );
}

interface KindProps {
  isBoolean: boolean;
  canEdit: boolean;
  onChange: (kind: "boolean" | "multivariate") => void;
}

function Kind({ isBoolean, canEdit, onChange }: KindProps) {
  return (
    <fieldset className="flex flex-wrap items-center gap-x-4 gap-y-1" disabled={!canEdit}>
      <legend className="sr-only">{words.kind}</legend>
      {(["boolean", "multivariate"] as const).map((kind) => (
        <label key={kind} className="flex items-center gap-1.5">
          <input
            type="radio"
            name="kind"
            checked={(kind === "boolean") === isBoolean}
            onChange={() => onChange(kind)}
            className="accent-accent"
          />
          {words[kind]}
        </label>
      ))}
    </fieldset>
  );
}
