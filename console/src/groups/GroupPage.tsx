import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useProjectId } from "@/app/session";
import { FlagTable, flagsNowQuery } from "@/persons";
import { Badge } from "@/ui/Badge";
import { Copyable } from "@/ui/Copy";
import { Card, LINK, Page } from "@/ui/Page";
import { PropertiesTable, Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { type Tab, Tabs } from "@/ui/Tabs";
import { Time } from "@/ui/Time";
import { words } from "@/words/groups";
import { GroupEvents } from "./GroupEvents";
import { type Group, groupQuery, groupTypesQuery } from "./queries";
import type { GroupTab } from "./search";

const route = getRouteApi("/signed-in/project/$projectId/groups/$typeIndex/$groupKey");

/** A group is called by its property `name`, or by its key. */
function nameOf({ group_properties: { name }, group_key: key }: Group): string {
  return typeof name === "string" && name !== "" ? name : key;
}

export default function GroupPage() {
  const projectId = useProjectId();
  const { typeIndex, groupKey } = route.useParams();
  const group = useQuery(groupQuery(projectId, typeIndex, groupKey));
  const types = useQuery(groupTypesQuery(projectId));
  const name = group.data ? nameOf(group.data) : groupKey;
  return (
    <Page
      title={name}
      heading={<Visible text={name} />}
      back={
        <Link
          to="/project/$projectId/groups"
          params={{ projectId }}
          search={typeIndex === "0" ? {} : { type: Number(typeIndex) }}
          className={LINK}
        >
          {words.title}
        </Link>
      }
    >
      <Loaded query={group} isWaiting={types.isPending} rows={5}>
        {(found) => (
          <>
            <Summary group={found} />
            <GroupTabs group={found} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function useTypeName(index: number): string {
  const types = useQuery(groupTypesQuery(useProjectId())).data ?? [];
  return types.find((type) => type.group_type_index === index)?.group_type ?? words.groupTitle;
}

function Summary({ group }: { group: Group }) {
  const type = useTypeName(group.group_type_index);
  return (
    <div className="-mt-3 flex min-w-0 flex-wrap items-center gap-x-4 gap-y-1 text-ink-2">
      <Badge tone="info">
        <Visible text={type} />
      </Badge>
      <Copyable text={group.group_key} what={words.key} />
      <span>
        {words.firstSeen} <Time at={group.created_at} />
      </span>
    </div>
  );
}

function GroupTabs({ group }: { group: Group }) {
  const { tab = "properties" } = route.useSearch();
  const navigate = route.useNavigate();
  const label = words.tabs;
  const tabs: Tab<GroupTab>[] = [
    {
      id: "properties",
      label: label.properties,
      content: (
        <Card>
          <PropertiesTable
            label={words.propertiesLabel}
            properties={group.group_properties}
            empty={words.noProperties}
          />
        </Card>
      ),
    },
    { id: "events", label: label.events, content: <GroupEvents group={group} /> },
    { id: "flags", label: label.flags, content: <GroupFlags group={group} /> },
  ];
  return (
    <Tabs
      label={label.label}
      tabs={tabs}
      selected={tab}
      onSelect={(id) => void navigate({ search: id === "properties" ? {} : { tab: id } })}
    />
  );
}

/** Flags of this type of group: their answers depend on no person. */
function GroupFlags({ group }: { group: Group }) {
  const projectId = useProjectId();
  const types = useQuery(groupTypesQuery(projectId));
  const type = types.data?.find((one) => one.group_type_index === group.group_type_index);
  const flags = useQuery({
    ...flagsNowQuery(
      projectId,
      group.group_key,
      type === undefined ? {} : { [type.group_type]: group.group_key },
      null,
    ),
    enabled: type !== undefined,
  });
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <p className="text-ink-2">{words.flagsHint}</p>
      <Loaded query={flags} rows={4}>
        {(found) => (
          <FlagTable
            projectId={projectId}
            flags={found.filter((flag) => flag.groupTypeIndex === group.group_type_index)}
            distinctId=""
            empty={words.flagsEmpty}
          />
        )}
      </Loaded>
    </div>
  );
}
