import { Fragment } from "react";
import { words } from "@/words/filters";
import type { PropertyFilter } from "./model";
import { useFilterNames } from "./names";
import { audienceParts, filterParts, type SentencePart } from "./sentence";

/** A condition in plain words, with names and values set as code. */
export function FilterSentence({ filter }: { filter: PropertyFilter }) {
  const names = useFilterNames([filter]);
  return <SentenceParts parts={filterParts(filter, names)} />;
}

interface AudienceProps {
  filters: readonly PropertyFilter[];
  /** The noun in the plural; "people" by default. */
  noun?: string;
}

/** The people that conditions select together: "people whose `plan` is `pro`". */
export function AudienceSentence({ filters, noun }: AudienceProps) {
  const names = useFilterNames(filters);
  return <SentenceParts parts={audienceParts(filters, names, noun)} />;
}

// No space before these.
const MARKS: readonly string[] = [words.comma, words.stop];

/** A sentence with names and values in code style. */
export function SentenceParts({ parts }: { parts: readonly SentencePart[] }) {
  return (
    <span>
      {parts.map((part, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence have no other name than their place.
        <Fragment key={place}>
          {place > 0 && !MARKS.includes(part.text) && " "}
          {part.kind === "code" ? (
            <code className="rounded bg-sunken px-1 font-mono text-[0.9em]">
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
