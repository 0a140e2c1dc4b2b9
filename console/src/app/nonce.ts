declare global {
  var __webpack_nonce__: string | undefined;
}

/** Radix puts a style into the page while a dialog is open, and takes its nonce from this name. */
export function setStyleNonce(): void {
  const meta = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]');
  globalThis.__webpack_nonce__ = meta?.nonce;
}
