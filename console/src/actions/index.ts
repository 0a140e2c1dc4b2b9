// The exports for other features.
export { actionIn, actionOption, withActions } from "./options";
export { actionsQuery } from "./queries";
