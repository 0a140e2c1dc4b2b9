export { ProofField, useProof } from "./account/ProofField";
