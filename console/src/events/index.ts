// The exports for other features.
export { eventOptions, propertyOptions } from "./options";
