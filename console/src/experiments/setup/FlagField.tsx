import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { Combobox } from "@/ui/combobox";
import { words } from "@/words/experiments";
import { formatShare } from "@/words/format";
import { type Variant, variantsOfFlag } from "../variants";
import { eligibleFlagsQuery } from "./queries";

const WORDS = words.flagField;

/** Return the variants of the flag with a key that an experiment can run with; undefined: there is
 * none. */
export function useVariantsOf(key: string): readonly Variant[] | undefined {
  const flags = useQuery(eligibleFlagsQuery(useProjectId())).data ?? [];
  const flag = flags.find((one) => one.key === key);
  return flag === undefined ? undefined : variantsOfFlag(flag.filters);
}

interface Props {
  value: string;
  onChange: (key: string) => void;
  disabled: boolean;
  error: string | undefined;
}

/** The flag of a new experiment: one that exists, or the key of a new one. */
export function FlagField({ value, onChange, disabled, error }: Props) {
  const flags = useQuery(eligibleFlagsQuery(useProjectId())).data ?? [];
  const variants = useVariantsOf(value);
  return (
    <Combobox
      mono
      freeEntry
      label={WORDS.label}
      options={flags.map(({ key, name }) => ({ value: key, description: name }))}
      value={value === "" ? null : value}
      onChange={(key) => onChange(key ?? "")}
      disabled={disabled}
      error={error}
      hint={
        variants === undefined
          ? WORDS.isNew
          : WORDS.exists(
              variants.map(({ key, share }) => `${key} ${formatShare(share)}`).join(", "),
            )
      }
    />
  );
}
