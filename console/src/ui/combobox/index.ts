export { Combobox } from "./Combobox";
export { type ComboboxOption, matching, type OptionSource } from "./options";
export type { ComboboxProps } from "./useCombobox";
