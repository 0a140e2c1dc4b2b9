// The exports for other features.
export { DeletionButton } from "./DeletionButton";
export { NamedItemForm, type NamedItemFormProps } from "./NamedItemForm";
export { NamedItemsList } from "./NamedItemsList";
export { type NamedItemsSearch, readNamedItemsSearch } from "./search";
