// What other features may use of this one.
export { deadLettersQuery, type Report, reportQuery } from "./queries";
export { Examples, reasonName } from "./Reasons";
