export { Combobox } from "./Combobox";
export type { OptionListState } from "./OptionList";
export { OptionPopover } from "./OptionPopover";
export { type ComboboxOption, matching, type OptionSource } from "./options";
export type { ComboboxProps } from "./useCombobox";
