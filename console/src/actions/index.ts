// The exports for other features.
export { readActions } from "./queries";
