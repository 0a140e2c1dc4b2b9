import { useGroupTypes } from "@/filters";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/insightsBuilder";
import type { FieldsProps } from "./kind";

/** Chooses between counting persons and groups. Hidden if the project has no groups. */
export function CountedField({ question, onChange, errorAt }: FieldsProps) {
  const types = useGroupTypes();
  const { groupTypeIndex, ...others } = question;
  if (types.length === 0 && groupTypeIndex === undefined) return null;
  const known = types.length > 0 ? types : Array.from({ length: 5 }, (_, place) => String(place));
  return (
    <SelectField
      label={words.counts}
      value={groupTypeIndex === undefined ? "persons" : String(groupTypeIndex)}
      options={[
        { value: "persons", label: words.countsPersons },
        ...known.map((type, place) => ({ value: String(place), label: words.countsGroups(type) })),
      ]}
      onChange={(value) =>
        onChange(value === "persons" ? others : { ...others, groupTypeIndex: Number(value) })
      }
      error={errorAt("aggregation_group_type_index")}
    />
  );
}
