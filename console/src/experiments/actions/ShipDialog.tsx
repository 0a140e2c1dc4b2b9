import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { Visible } from "@/ui/properties";
import { RadioList } from "@/ui/RadioList";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/experimentActions";
import type { Experiment } from "../queries";
import { phaseQuery } from "../resultQueries";
import { variantsOfFlag } from "../variants";
import { ActionDialog, type ActionDialogProps } from "./ActionDialog";
import { useShip } from "./queries";

const TEXTS = words.shipping;

/** Gives one variant to all, and says before what happens to the flag. */
export function ShipDialog({ experiment, onClose }: ActionDialogProps) {
  const variants = shippable(experiment);
  const found = useBestVariant(experiment.id);
  const [variant, setVariant] = useState(found ?? (variants[1] ?? variants[0])?.key ?? "");
  const [who, setWho] = useState<keyof typeof TEXTS.whos>("conditions");
  const ship = useShip(experiment.id);
  const isRunning = experiment.end_date === null;
  const body = { variant_key: variant, release_to_everyone: who === "everyone" };
  const happens = [TEXTS.share(variant), isRunning ? TEXTS.ends : TEXTS.keeps];
  return (
    <ActionDialog
      texts={TEXTS}
      submit={TEXTS.submit(variant)}
      canSubmit={variant !== ""}
      action={ship}
      act={() => ship.mutateAsync(body)}
      done={() => words.done.shipped(variant)}
      onClose={onClose}
    >
      <SelectField
        label={TEXTS.variant}
        value={variant}
        options={variants.map(({ key }) => ({ value: key, label: key }))}
        onChange={setVariant}
      />
      <RadioList
        label={TEXTS.who}
        value={who}
        options={(["conditions", "everyone"] as const).map((value) => ({
          value,
          label: TEXTS.whos[value],
          hint: TEXTS.whoHints[value],
        }))}
        onChange={setWho}
      />
      <section aria-label={TEXTS.happens}>
        <h3 className="font-medium">{TEXTS.happens}</h3>
        <ul className="list-disc ps-5 text-ink-2">
          {happens.map((text) => (
            <li key={text}>
              <Visible text={text} />
            </li>
          ))}
        </ul>
      </section>
    </ActionDialog>
  );
}

/** The variants of the flag, which are those of the experiment. */
const shippable = ({ feature_flag: flag }: Experiment) => variantsOfFlag(flag?.filters);

/** The variant that the verdict names, if the results are known. */
function useBestVariant(id: number): string | null {
  const queries = useQueryClient();
  const results = queries.getQueryData(phaseQuery(useProjectId(), id, undefined).queryKey);
  const verdict = results?.verdict;
  return verdict?.code === "ship" || verdict?.code === "keep" ? verdict.variant : null;
}
