export { Combobox, type ComboboxProps } from "./combobox/Combobox";
export { type ComboboxOption, matching, type OptionSource } from "./combobox/options";
