import { Fragment } from "react";
import type { SentencePart } from "./sentence";

/** A sentence in which names and values are set as code. */
export function Sentence({ parts }: { parts: readonly SentencePart[] }) {
  return (
    <span>
      {parts.map((part, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence have no other name than their place.
        <Fragment key={place}>
          {place > 0 && !/^[,;)]/.test(part.text) && parts[place - 1]?.text !== "(" && " "}
          {part.kind === "code" ? (
            <code className="rounded bg-sunken px-1 font-mono text-[0.9em]">
              <bdi>{part.text.slice(0, 200)}</bdi>
            </code>
          ) : (
            part.text
          )}
        </Fragment>
      ))}
    </span>
  );
}
