import { useEffect, useState } from "react";
import { useSettled } from "@/lib/hooks";

/** A text that is kept elsewhere, such as in the address: shown as it is typed, and told once it has
 * not changed for a moment. */
export function useTyped(given: string, onSettled: (text: string) => void) {
  const [text, setText] = useState(given);
  const [known, setKnown] = useState(given);
  const settled = useSettled(text);
  if (given !== known) {
    // Changed from elsewhere: by "back", or a link.
    setKnown(given);
    setText(given);
  }
  useEffect(() => {
    if (settled === text && settled !== known) {
      setKnown(settled);
      onSettled(settled);
    }
  }, [settled, known, text, onSettled]);
  return [text, setText] as const;
}
