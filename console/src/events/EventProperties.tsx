import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Card } from "@/ui/Page";
import { isSystemName, plainName, Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { words } from "@/words/events";
import { type PropertyDefinition, propertiesQuery, valuesQuery } from "./queries";
import { definedType } from "./sampledProperties";
import { TopValues } from "./TopValues";

const SHOWN_FIRST = 20;

/** Properties that an event carries, each with its type and most frequent values. */
export function EventProperties({ event }: { event: string }) {
  const properties = useQuery(propertiesQuery(useProjectId(), event));
  const [isAll, setAll] = useState(false);
  return (
    <Card title={words.properties.title}>
      <Loaded query={properties} rows={6}>
        {({ results }) => {
          const sorted = ownFirst(results);
          const rest = sorted.length - SHOWN_FIRST;
          return sorted.length === 0 ? (
            <p className="text-ink-2">{words.properties.none}</p>
          ) : (
            <>
              <ul aria-label={words.properties.list}>
                {(isAll ? sorted : sorted.slice(0, SHOWN_FIRST)).map((property) => (
                  <PropertyItem key={property.id} property={property} event={event} />
                ))}
              </ul>
              {!isAll && rest > 0 && (
                <Button small onClick={() => setAll(true)} className="mt-2">
                  {words.properties.more(rest)}
                </Button>
              )}
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

/** Sorts the project's own properties before those that SDKs set. */
function ownFirst(properties: readonly PropertyDefinition[]): PropertyDefinition[] {
  return properties.toSorted((a, b) => Number(isSystemName(a.name)) - Number(isSystemName(b.name)));
}

function PropertyItem({ property, event }: { property: PropertyDefinition; event: string }) {
  const [isOpen, setOpen] = useState(false);
  const { name } = property;
  return (
    <li className="border-line border-b last:border-b-0">
      <button
        type="button"
        aria-expanded={isOpen}
        title={name}
        onClick={() => setOpen(!isOpen)}
        className="flex w-full items-center gap-1 py-1.5 text-left hover:bg-sunken"
      >
        <ChevronRight
          aria-hidden
          className={classes("size-4 shrink-0 text-ink-3", isOpen && "rotate-90")}
        />
        <span className="min-w-0 grow">
          <Visible text={plainName(name)} />
        </span>
        <Badge>{definedType(property)}</Badge>
      </button>
      {isOpen && <Values name={name} event={event} />}
    </li>
  );
}

function Values({ name, event }: { name: string; event: string }) {
  const values = useQuery(valuesQuery(useProjectId(), name, event));
  return (
    <div className="pb-3 pl-5">
      <Loaded query={values} rows={2}>
        {(found) => (
          <TopValues
            label={words.properties.values(name)}
            values={found}
            hint={words.properties.valuesHint}
          />
        )}
      </Loaded>
    </div>
  );
}
