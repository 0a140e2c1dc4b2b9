export { ActivityList, type ActivityListProps, type ActivityPages } from "./ActivityList";
export { type ActivityEntry, actionsOf, actorOf, describeChange } from "./describe";
export { itemHref } from "./itemHref";
