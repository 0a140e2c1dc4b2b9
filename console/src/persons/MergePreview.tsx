import type { ReactNode } from "react";
import { Badge, Notice } from "@/ui/Badge";
import { plainName, plainValue, SafeText, Visible } from "@/ui/properties";
import { ClockTime } from "@/ui/Time";
import { formatNumber } from "@/words/format";
import { words } from "@/words/persons";
import type { MergePreview } from "./queries";

const WORDS = words.merge;
const CELL = "border-line border-b px-2 py-1.5 text-left align-top";
const VALUE_MAX = 120;

/** The result of a merge, and what would be lost. */
export function MergePreviewParts({ preview }: { preview: MergePreview }) {
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Scrolled label={WORDS.chosen}>
        <Persons preview={preview} />
      </Scrolled>
      <section className="flex min-w-0 flex-col gap-1">
        <h3 className="font-semibold">{WORDS.properties}</h3>
        <Properties preview={preview} />
      </section>
      <section className="flex flex-col gap-1">
        <h3 className="font-semibold">{WORDS.cohorts}</h3>
        <Cohorts preview={preview} />
      </section>
      {preview.flag_identities.length > 0 && (
        <section className="flex flex-col gap-1">
          <h3 className="font-semibold">{WORDS.identities}</h3>
          <ul className="list-disc pl-5">
            {preview.flag_identities.map(({ flag_key: key }) => (
              <li key={key}>
                <Visible text={WORDS.identity(key)} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <Notice tone="warn">
        <h3 className="font-semibold">{WORDS.irreversible}</h3>
        <ul className="list-disc pl-5">
          {preview.irreversible.map(({ code, detail }) => (
            <li key={code}>{detail}</li>
          ))}
        </ul>
      </Notice>
    </div>
  );
}

function Scrolled({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so that keys must reach it
    <section tabIndex={0} aria-label={label} className="overflow-x-auto">
      {children}
    </section>
  );
}

function Persons({ preview }: { preview: MergePreview }) {
  return (
    <table className="w-full">
      <thead>
        <tr className="text-ink-2 text-sm">
          {[WORDS.person, WORDS.outcome, WORDS.events, WORDS.ids, WORDS.created].map((header) => (
            <th key={header} scope="col" className={CELL}>
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {preview.persons.map((person) => (
          <tr key={person.id}>
            <th scope="row" className={`${CELL} min-w-32 font-medium`}>
              <Visible text={person.name || person.id} />
            </th>
            <td className={CELL}>
              <Badge tone={person.id === preview.id ? "good" : "neutral"}>
                {person.id === preview.id ? WORDS.remains : WORDS.goes}
              </Badge>
            </td>
            <td className={CELL}>
              {person.events === null ? WORDS.eventsUnknown : formatNumber(person.events)}
            </td>
            <td className={CELL}>{formatNumber(person.distinct_ids_count)}</td>
            <td className={`${CELL} whitespace-nowrap`}>
              <ClockTime at={person.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Properties({ preview }: { preview: MergePreview }) {
  const more = preview.properties_count - preview.properties.length;
  const losesNothing = preview.properties.every(({ lost }) => lost.length === 0);
  return (
    <>
      {losesNothing && <p className="text-ink-2">{WORDS.lostNothing}</p>}
      <Scrolled label={WORDS.properties}>
        <table className="w-full">
          <thead>
            <tr className="text-ink-2 text-sm">
              {[WORDS.property, WORDS.kept, WORDS.lost].map((header) => (
                <th key={header} scope="col" className={CELL}>
                  {header}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {preview.properties.map(({ name, remaining, lost }) => (
              <tr key={name}>
                <th scope="row" className={`${CELL} min-w-24 font-normal`}>
                  <Visible text={plainName(name)} />
                </th>
                <td className={`${CELL} min-w-32`}>
                  {remaining === null ? WORDS.noRoom : <Value of={remaining} />}
                </td>
                <td className={`${CELL} min-w-32 text-ink-2`}>
                  <ul>
                    {lost.map((value) => (
                      <li key={value.person} className="line-through">
                        <Value of={value} />
                      </li>
                    ))}
                  </ul>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
      {more > 0 && <p className="text-ink-2">{WORDS.moreProperties(more)}</p>}
    </>
  );
}

function Value({ of }: { of: { value?: unknown; is_cut: boolean } }) {
  return <SafeText text={of.is_cut ? WORDS.cut : plainValue(of.value)} length={VALUE_MAX} />;
}

function Cohorts({ preview }: { preview: MergePreview }) {
  if (preview.cohorts.length === 0) return <p className="text-ink-2">{WORDS.noCohorts}</p>;
  return (
    <ul className="flex flex-wrap gap-2">
      {preview.cohorts.map((cohort) => (
        <li key={cohort.id} className="flex items-center gap-1">
          <Visible text={cohort.name || words.cohorts.untitled} />
          {cohort.is_new && <Badge tone="info">{WORDS.newCohort}</Badge>}
        </li>
      ))}
    </ul>
  );
}
