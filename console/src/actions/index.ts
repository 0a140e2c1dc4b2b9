// The exports for other features.
export { actionIn, actionOption } from "./option";
export { withActions } from "./options";
export { actionsQuery } from "./queries";
