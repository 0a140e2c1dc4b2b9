// The exports for other features.
export { eventOptions } from "./options";
