import { useState } from "react";
import { words } from "@/words/ui";

const CHARS_MAX = 300;

/** Text that a stranger may have sent: cut, and its direction kept from the text around it. */
export function LongText({ text, charsMax = CHARS_MAX }: { text: string; charsMax?: number }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > charsMax;
  return (
    <>
      <bdi className="whitespace-pre-wrap">
        {isLong && !isWhole ? `${text.slice(0, charsMax)}…` : text}
      </bdi>
      {isLong && (
        <button
          type="button"
          className="ml-1.5 text-accent-text text-sm underline"
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? words.showLess : words.showAll}
        </button>
      )}
    </>
  );
}
