// The exports for other features.

export { columnsOf as personColumns } from "./columns";
export { FlagTable } from "./FlagTable";
export { PersonPicker } from "./PersonPicker";
export { emailOf, flagsNowQuery, type Person, personQuery } from "./queries";
