// What other features may use of this one.

export { emailOf } from "./names";
export { PersonPicker } from "./PersonPicker";
export { groupTypesQuery, type Person } from "./queries";
