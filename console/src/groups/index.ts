// What other features may use of this one.
export { groupTypesQuery } from "./queries";
