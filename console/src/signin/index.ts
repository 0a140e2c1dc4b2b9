// What other features may use of this one.
export { ConfirmForm } from "./ConfirmForm";
export { SignInForm } from "./SignInForm";
