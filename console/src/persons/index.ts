// The exports for other features.

export { columnsOf as personColumns } from "./columns";
export { FlagTable } from "./FlagTable";
export { emailOf } from "./names";
export { PersonPicker } from "./PersonPicker";
export { flagsNowQuery, type Person, personQuery } from "./queries";
