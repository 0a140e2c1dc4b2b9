export {
  cohortOptions,
  flagOptions,
  nameOptions,
  valueOptions,
} from "./api";
export { type FilterProblems, filterProblems, isComplete } from "./check";
export { FilterSentence } from "./FilterSentence";
export {
  emptyFilter,
  type FilterKind,
  type FilterUse,
  type Operator,
  type PropertyFilter,
} from "./model";
export { PropertyFilterEditor, type PropertyFilterEditorProps } from "./PropertyFilterEditor";
export { PropertyFilterList, type PropertyFilterListProps } from "./PropertyFilterList";
export { type FilterNames, filterSentence, filtersSentence } from "./sentence";
