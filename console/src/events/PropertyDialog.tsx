import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useProjectId } from "@/app/session";
import { Dialog } from "@/ui/Dialog";
import { LINK } from "@/ui/Page";
import { plainName, Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { words } from "@/words/events";
import { DetailFields } from "./DetailFields";
import {
  actorDefinitionsQuery,
  definitionsQuery,
  type PropertyDefinition,
  propertiesQuery,
  valuesQuery,
} from "./queries";
import { groupValuesQuery, personValuesQuery } from "./sampledProperties";
import type { Owner } from "./search";
import { TopValues } from "./TopValues";
import { usePropertyChanges } from "./useDefinitionChanges";

interface PropertyDialogProps {
  name: string;
  owner: Owner;
  groupType: number;
  onClose: () => void;
}

/** The most frequent values of a property, and the events that carry it. */
export function PropertyDialog({ name, owner, groupType, onClose }: PropertyDialogProps) {
  const plain = plainName(name);
  return (
    <Dialog
      isOpen
      wide
      onClose={onClose}
      title={plain}
      description={plain === name ? undefined : <code>{name}</code>}
    >
      <div className="flex flex-col gap-5">
        <About name={name} owner={owner} groupType={groupType} />
        <section aria-label={words.property.values}>
          <h3 className="mb-1 font-medium">{words.property.values}</h3>
          <Values name={name} owner={owner} groupType={groupType} />
        </section>
        {owner === "event" && <Carriers name={name} />}
      </div>
    </Dialog>
  );
}

/** What users say about the property; nothing where it has no definition yet. */
function About({ name, owner, groupType }: Omit<PropertyDialogProps, "onClose">) {
  const projectId = useProjectId();
  const ofEvents = useQuery({ ...propertiesQuery(projectId), enabled: owner === "event" });
  const ofActors = useQuery({
    ...actorDefinitionsQuery(projectId, owner === "group" ? groupType : undefined),
    enabled: owner !== "event",
  });
  const definitions = owner === "event" ? ofEvents : ofActors;
  return (
    <Loaded query={definitions} rows={6}>
      {({ results }) => {
        const definition = results.find((one) => one.name === name);
        return definition && <AboutDefined definition={definition} />;
      }}
    </Loaded>
  );
}

function AboutDefined({ definition }: { definition: PropertyDefinition }) {
  const change = usePropertyChanges(definition);
  return (
    <section aria-label={words.property.about} className="flex flex-col gap-4">
      <DetailFields details={definition} isBusy={change.isPending} onChange={change.mutate} />
    </section>
  );
}

function Values({ name, owner, groupType }: Omit<PropertyDialogProps, "onClose">) {
  const projectId = useProjectId();
  const ofEvents = useQuery({ ...valuesQuery(projectId, name), enabled: owner === "event" });
  const ofPersons = useQuery({
    ...personValuesQuery(projectId, name),
    enabled: owner === "person",
  });
  const ofGroups = useQuery({
    ...groupValuesQuery(projectId, groupType, name),
    enabled: owner === "group",
  });
  const values = { event: ofEvents, person: ofPersons, group: ofGroups }[owner];
  return (
    <Loaded query={values} rows={4}>
      {(found) => (
        <TopValues
          label={words.properties.values(name)}
          values={found}
          hint={words.property.counts[owner]}
        />
      )}
    </Loaded>
  );
}

function Carriers({ name }: { name: string }) {
  const projectId = useProjectId();
  const properties = useQuery(propertiesQuery(projectId));
  const definitions = useQuery(definitionsQuery(projectId));
  const events = properties.data?.results.find((one) => one.name === name)?.event_names ?? [];
  const ids = new Map(definitions.data?.results.map((one) => [one.name, one.id]));
  if (events.length === 0) return null;
  return (
    <section aria-label={words.property.usedBy}>
      <h3 className="mb-1 font-medium">{words.property.usedBy}</h3>
      <ul className="flex flex-wrap gap-x-4 gap-y-1">
        {events.map((event) => {
          const id = ids.get(event);
          return (
            <li key={event} className="min-w-0">
              {id === undefined ? (
                <Visible text={event} />
              ) : (
                <Link
                  to="/project/$projectId/events/$definitionId"
                  params={{ projectId, definitionId: id }}
                  className={LINK}
                >
                  <Visible text={event} />
                </Link>
              )}
            </li>
          );
        })}
        {events.length >= 100 && <li className="text-ink-2">{words.property.andMore}</li>}
      </ul>
    </section>
  );
}
