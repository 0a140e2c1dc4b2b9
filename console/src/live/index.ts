// What other features may use of this one.
export { EventDetails } from "./EventDetails";
export { type LiveEvent, personName } from "./liveEvent";
export { useFeed } from "./useFeed";
