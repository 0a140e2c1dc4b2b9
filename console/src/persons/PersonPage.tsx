import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useProjectId } from "@/app/session";
import { Badge } from "@/ui/Badge";
import { Copyable } from "@/ui/Copy";
import { lazyPart } from "@/ui/lazyPart";
import { LINK, Page } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { type Tab, Tabs } from "@/ui/Tabs";
import { Time } from "@/ui/Time";
import { words } from "@/words/persons";
import { PersonActions } from "./PersonActions";
import { PersonCohorts } from "./PersonCohorts";
import { PersonProperties } from "./PersonProperties";
import { fullNameOf, identifiedFirst, type Person, personQuery } from "./queries";
import type { PersonTab } from "./search";
import { Timeline } from "./Timeline";

// Loaded with their tabs.
const PersonActivity = lazyPart(
  "person activity",
  async () => (await import("./PersonActivity")).PersonActivity,
);
const PersonIds = lazyPart("person ids", async () => (await import("./PersonIds")).PersonIds);
const PersonFlags = lazyPart(
  "person flags",
  async () => (await import("./PersonFlags")).PersonFlags,
);

const route = getRouteApi("/signed-in/project/$projectId/persons/$personId");

export default function PersonPage() {
  const projectId = useProjectId();
  const { personId } = route.useParams();
  const person = useQuery(personQuery(projectId, personId));
  const name = person.data?.name || words.personTitle;
  return (
    <Page
      title={name}
      heading={
        <Visible text={person.data ? person.data.name || words.unnamed : words.personTitle} />
      }
      back={
        <Link to="/project/$projectId/persons" params={{ projectId }} className={LINK}>
          {words.back}
        </Link>
      }
      actions={person.data && <PersonActions person={person.data} />}
    >
      <Loaded query={person} rows={6}>
        {(found) => (
          <>
            <Summary person={found} />
            <PersonTabs person={found} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Summary({ person }: { person: Person }) {
  const [first] = identifiedFirst(person.distinct_ids);
  const fullName = fullNameOf(person);
  return (
    <div className="flex sm:-mt-3 min-w-0 flex-wrap items-center gap-x-4 gap-y-1 text-ink-2">
      {fullName && <Visible text={fullName} />}
      <Badge tone={person.is_identified ? "good" : "neutral"}>
        {person.is_identified ? words.identified : words.anonymous}
      </Badge>
      {first !== undefined && <Copyable text={first} what={words.distinctId} />}
      {person.distinct_ids.length > 1 && <span>{words.idCount(person.distinct_ids.length)}</span>}
      <span>
        {words.firstSeen} <Time at={person.created_at} />
      </span>
    </div>
  );
}

function PersonTabs({ person }: { person: Person }) {
  const { tab = "timeline" } = route.useSearch();
  const navigate = route.useNavigate();
  const label = words.tabs;
  const tabs: Tab<PersonTab>[] = [
    { id: "timeline", label: label.timeline, content: <Timeline person={person} /> },
    {
      id: "properties",
      label: label.properties,
      note: Object.keys(person.properties).length,
      content: <PersonProperties person={person} />,
    },
    { id: "cohorts", label: label.cohorts, content: <PersonCohorts person={person} /> },
    { id: "flags", label: label.flags, content: <PersonFlags person={person} /> },
    {
      id: "ids",
      label: label.ids,
      note: person.distinct_ids.length,
      content: <PersonIds person={person} />,
    },
    { id: "activity", label: label.activity, content: <PersonActivity person={person} /> },
  ];
  return (
    <Tabs
      label={label.label}
      tabs={tabs}
      selected={tab}
      onSelect={(id) => void navigate({ search: id === "timeline" ? {} : { tab: id } })}
    />
  );
}
