// The exports for other features.
export { EventDetails } from "./EventDetails";
export { type LiveEvent, personName } from "./liveEvent";
export { useFeed } from "./useFeed";
