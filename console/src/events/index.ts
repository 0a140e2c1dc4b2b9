// What other features may use of this one.
export { eventOptions } from "./options";
