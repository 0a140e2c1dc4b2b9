import { ExternalLink } from "lucide-react";
import { Fragment, useState } from "react";
import { words } from "@/words/properties";
import { cut, textParts, webAddress } from "./safeText";

const LENGTH_SHOWN = 300;

/** Text of strangers: cut, isolated from what stands around it, with signs made visible that are not. */
export function SafeText({ text, length = LENGTH_SHOWN }: { text: string; length?: number }) {
  const [isWhole, setIsWhole] = useState(false);
  const isCut = text.length > length;
  const address = webAddress(text);
  return (
    <>
      <Visible text={isCut && !isWhole ? `${cut(text, length)}…` : text} />
      {address !== null && (
        <a
          href={address}
          target="_blank"
          rel="noopener noreferrer"
          aria-label={words.open}
          title={words.open}
          className="ms-1 inline-block align-[-0.15em] text-ink-2 hover:text-accent-text"
        >
          <ExternalLink size={13} aria-hidden />
        </a>
      )}
      {isCut && (
        <button
          type="button"
          className="ms-1.5 text-start text-sm text-accent-text hover:underline"
          onClick={() => setIsWhole(!isWhole)}
        >
          {isWhole ? words.showLess : words.showAll(text.length)}
        </button>
      )}
    </>
  );
}

/** One line of a stranger's text, for cells and headings that cut by themselves. */
export function Visible({ text }: { text: string }) {
  const parts = textParts(text);
  return (
    <bdi className="whitespace-pre-wrap [unicode-bidi:isolate]">
      {parts.map((part, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name than their place.
        <Fragment key={place}>
          {part.code === null ? (
            part.text
          ) : (
            <span
              title={words.character(part.code)}
              className="mx-px rounded-sm bg-warn-soft px-0.5 font-mono text-[0.75rem] text-warn"
            >
              {part.code}
            </span>
          )}
        </Fragment>
      ))}
    </bdi>
  );
}
