export { ActivityList, type ActivityListProps, type ActivityPages } from "./ActivityList";
export { type ActivityEntry, actorOf, deedsOf, describeChange } from "./describe";
export { itemHref } from "./itemHref";
