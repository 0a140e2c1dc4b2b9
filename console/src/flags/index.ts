export { suggestedKey } from "./editor/fields";
export { evenShares, isSame, shareSum } from "./model";
