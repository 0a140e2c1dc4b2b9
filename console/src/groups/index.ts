// The exports for other features.
export { groupTypesQuery } from "./queries";
