/** The nonce that the page's policy asks of styles which scripts put into it; "" without a policy. */
export const styleNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
