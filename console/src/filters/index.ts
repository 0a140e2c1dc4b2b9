export { cohortOptions, flagOptions, nameOptions, valueOptions } from "./api";
export { type FilterProblems, filterProblems, isComplete } from "./check";
export { AudienceSentence, FilterSentence, SentenceParts } from "./FilterSentence";
export {
  emptyFilter,
  type FilterKind,
  type FilterUse,
  type Operator,
  type PropertyFilter,
} from "./model";
export { useFilterNames, useGroupTypes } from "./names";
export { PropertyFilterEditor, type PropertyFilterEditorProps } from "./PropertyFilterEditor";
export { PropertyFilterList, type PropertyFilterListProps } from "./PropertyFilterList";
export {
  audienceSentence,
  type FilterNames,
  filterParts,
  filterSentence,
  type SentencePart,
  sentenceText,
} from "./sentence";
export {
  cohortCondition,
  eventConditions,
  groupConditions,
  insightConditions,
  personConditions,
  readFilter,
  readFilters,
} from "./wire";
