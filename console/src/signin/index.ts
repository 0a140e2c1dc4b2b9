// The exports for other features.
export { ConfirmForm } from "./ConfirmForm";
export { SignInForm } from "./SignInForm";
