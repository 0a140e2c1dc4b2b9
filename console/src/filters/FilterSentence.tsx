import { Fragment } from "react";
import type { PropertyFilter } from "./model";
import { type FilterNames, filterParts } from "./sentence";

/** A condition in plain words, with names and values set as code. */
export function FilterSentence({ filter, names }: { filter: PropertyFilter; names?: FilterNames }) {
  return (
    <span>
      {filterParts(filter, names).map((part, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence have no other name than their place.
        <Fragment key={place}>
          {place > 0 && part.text !== "," && " "}
          {part.kind === "code" ? (
            <code className="rounded bg-sunken px-1 font-mono text-[0.875em]">
              <bdi>{part.text}</bdi>
            </code>
          ) : (
            part.text
          )}
        </Fragment>
      ))}
    </span>
  );
}
