import { words } from "@/words/activity";
import { jsonDifferences, pathText } from "./jsonDiff";
import { SafeText } from "./properties";

const PLACES_SHOWN = 100;

/** A table of the differences between two JSON values: path, before, after. */
export function JsonDiff({ before, after }: { before: unknown; after: unknown }) {
  const differences = jsonDifferences(before, after);
  if (differences.length === 0) return <p className="text-ink-3">{words.noDifference}</p>;
  const shown = differences.slice(0, PLACES_SHOWN);
  return (
    <div className="min-w-0">
      <table className="w-full table-fixed border-separate border-spacing-0 text-sm">
        <thead className="text-ink-3">
          <tr>
            <th scope="col" className="w-2/5 pe-2 pb-0.5 text-start font-normal">
              {words.path}
            </th>
            <th scope="col" className="pe-2 pb-0.5 text-start font-normal">
              {words.before}
            </th>
            <th scope="col" className="pb-0.5 text-start font-normal">
              {words.after}
            </th>
          </tr>
        </thead>
        <tbody className="font-mono">
          {shown.map((one) => (
            <tr key={pathText(one.path)} className="align-top">
              <th scope="row" className="border-t border-line py-1 pe-2 text-start font-normal">
                <SafeText text={one.path.length === 0 ? words.whole : pathText(one.path)} />
              </th>
              <td className="border-t border-line py-1 pe-2">
                <Side value={one.before} tone="bad" />
              </td>
              <td className="border-t border-line py-1">
                <Side value={one.after} tone="good" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {differences.length > shown.length && (
        <p className="pt-1 text-sm text-ink-3">
          {words.moreDifferences(differences.length - shown.length)}
        </p>
      )}
    </div>
  );
}

function Side({ value, tone }: { value: unknown; tone: "good" | "bad" }) {
  if (value === undefined)
    return <span className="font-sans text-ink-3 italic">{words.absent}</span>;
  return (
    <span
      className={`rounded px-1 ${tone === "good" ? "bg-good-soft text-good" : "bg-bad-soft text-bad"}`}
    >
      <SafeText text={JSON.stringify(value)} />
    </span>
  );
}
