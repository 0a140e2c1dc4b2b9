// The exports for other features.
export { deadLettersQuery, type Report, reportQuery } from "./queries";
export { Examples, reasonName } from "./Reasons";
