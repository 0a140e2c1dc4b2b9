export { ProofField, useProof } from "./account/ProofField";
export { webhooksQuery } from "./queries";
