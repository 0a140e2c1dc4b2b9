import type { ComboboxOption } from "@/ui/combobox";
import { plainName } from "@/ui/properties";
import type { FilterKind } from "./model";

export interface PropertiesOf {
  kind: FilterKind;
  groupTypeIndex?: number | undefined;
  /** Whose properties are meant, of conditions on events. */
  event?: string | undefined;
}

export function named(name: string): ComboboxOption {
  const plain = plainName(name);
  return plain === name ? { value: name } : { value: name, label: plain, description: name };
}
