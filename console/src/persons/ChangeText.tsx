import type { components } from "@/lib/schema";
import { plainName, plainValue, SafeText, Visible } from "@/ui/properties";
import { words } from "@/words/persons";

type ChangedProperty = components["schemas"]["ChangedProperty"];
const WORDS = words.timeline;
const VALUE_MAX = 120;

/** "plan is pro · was free" */
export function ChangeText({ change }: { change: ChangedProperty }) {
  const name = plainName(change.name);
  if (change.operation === "unset") return <Visible text={WORDS.unset(name)} />;
  const says = change.operation === "set" ? WORDS.set(name) : WORDS.setOnce(name);
  return (
    <>
      <Visible text={says} />{" "}
      <span className="text-ink">
        <SafeText
          text={change.is_cut ? words.history.cut : plainValue(change.value)}
          length={VALUE_MAX}
        />
      </span>
      {change.is_before_known && change.before !== null && (
        <>
          {" · "}
          {WORDS.was} <SafeText text={plainValue(change.before)} length={VALUE_MAX} />
        </>
      )}
    </>
  );
}
