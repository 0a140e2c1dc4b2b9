export { ActivityCard } from "./ActivityCard";
export { ActivityList, type ActivityListProps, type ActivityPages } from "./ActivityList";
export { type ActivityEntry, actionsOf, actorOf } from "./describe";
export { describeChange } from "./describeChange";
export { itemHref } from "./itemHref";
export { ACTIVITY_PAGE } from "./pageSize";
export { authorsQuery } from "./queries";
