// What Node lacks of a browser, before any module asks for it.
if (!("navigator" in globalThis)) {
  Object.defineProperty(globalThis, "navigator", { value: { language: "en-US" } });
}

export {};
