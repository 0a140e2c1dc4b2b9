import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { Page } from "@/ui/Page";
import { Tabs } from "@/ui/Tabs";
import { words } from "@/words/events";
import { EventPropertyTable } from "./EventPropertyTable";
import { PropertyDialog } from "./PropertyDialog";
import { GroupProperties, PersonProperties } from "./SampledProperties";
import { type ChangeProperties, OWNERS, type PropertiesSearch } from "./search";

export default function PropertiesPage() {
  const search: PropertiesSearch = useSearch({ from: "/signed-in/project/$projectId/properties" });
  const navigate = useNavigate({ from: "/project/$projectId/properties" });
  const change: ChangeProperties = useCallback(
    (changes) =>
      void navigate({
        search: (old) =>
          Object.fromEntries(
            Object.entries({ ...old, ...changes }).filter(([, value]) => value !== undefined),
          ),
        // An open property is a step back; what is typed is none.
        replace: !("open" in changes),
        resetScroll: false,
      }),
    [navigate],
  );
  const owner = search.of ?? "event";
  const tables = {
    event: <EventPropertyTable search={search} onChange={change} />,
    person: <PersonProperties search={search} onChange={change} />,
    group: <GroupProperties search={search} onChange={change} />,
  };
  return (
    <Page title={words.propertiesTitle} description={words.propertiesDescription}>
      <Tabs
        label={words.propertyTab}
        selected={owner}
        onSelect={(of) =>
          change({ of: of === "event" ? undefined : of, open: undefined, sort: undefined })
        }
        tabs={OWNERS.map((id) => ({
          id,
          label: words.propertyTabs[id],
          content: tables[id],
        }))}
      />
      {search.open !== undefined && (
        <PropertyDialog
          name={search.open}
          owner={owner}
          groupType={search.group ?? 0}
          onClose={() => change({ open: undefined })}
        />
      )}
    </Page>
  );
}
