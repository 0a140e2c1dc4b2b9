import { useCallback, useState } from "react";

/** Read a value from this browser's storage. A browser may refuse to store: then nothing is kept. */
export function readStored<T>(
  name: string,
  otherwise: T,
  isValid: (found: unknown) => found is T,
): T {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(`fanion.${name}`) ?? "null");
    return isValid(found) ? found : otherwise;
  } catch {
    return otherwise;
  }
}

export function writeStored(name: string, value: unknown): void {
  try {
    localStorage.setItem(`fanion.${name}`, JSON.stringify(value));
  } catch {
    // Storage is full or switched off.
  }
}

export function removeStored(name: string): void {
  try {
    localStorage.removeItem(`fanion.${name}`);
  } catch {
    // Storage is switched off.
  }
}

/** Works as `useState`, and stores the value in this browser. */
export function useStored<T>(
  name: string,
  otherwise: T,
  isValid: (found: unknown) => found is T,
): [T, (value: T) => void] {
  const [value, setValue] = useState(() => readStored(name, otherwise, isValid));
  const store = useCallback(
    (next: T) => {
      setValue(next);
      writeStored(name, next);
    },
    [name],
  );
  return [value, store];
}

export const isText = (found: unknown): found is string => typeof found === "string";
export const isFlag = (found: unknown): found is boolean => typeof found === "boolean";
export const isTexts = (found: unknown): found is string[] =>
  Array.isArray(found) && found.every(isText);
