import { getRouteApi } from "@tanstack/react-router";
import { type Project, useIsAdmin, useProject } from "@/app/session";
import { lazyPart } from "@/ui/lazyPart";
import { Page } from "@/ui/Page";
import { Skeleton } from "@/ui/States";
import { Tabs } from "@/ui/Tabs";
import { words } from "@/words/settings";
import { PROJECT_TABS } from "../search";
import { ProjectMenu } from "./DeleteProject";
import { GeneralTab } from "./GeneralTab";
import { IngestionTab } from "./IngestionTab";
import { PathsTab } from "./PathsTab";
import { ProjectKeysTab } from "./ProjectKeysTab";
import { TestAccountsTab } from "./TestAccountsTab";
import { WebhooksTab } from "./WebhooksTab";

// Loaded when first opened.
const TransferTab = lazyPart(
  "project transfer",
  async () => (await import("./TransferTab")).TransferTab,
);

const route = getRouteApi("/signed-in/project/$projectId/settings");

export default function ProjectSettingsPage() {
  const project = useProject();
  const isAdmin = useIsAdmin();
  return (
    <Page
      title={words.projectTitle}
      actions={isAdmin && project && <ProjectMenu project={project} />}
    >
      {project === undefined ? <Skeleton /> : <Settings key={project.id} project={project} />}
    </Page>
  );
}

function Settings({ project }: { project: Project }) {
  const { tab = "general" } = route.useSearch();
  const navigate = route.useNavigate();
  const content = {
    general: <GeneralTab project={project} />,
    keys: <ProjectKeysTab project={project} />,
    ingestion: <IngestionTab project={project} />,
    testAccounts: <TestAccountsTab project={project} />,
    paths: <PathsTab project={project} />,
    webhooks: <WebhooksTab />,
    transfer: <TransferTab project={project} />,
  };
  return (
    <Tabs
      label={words.sections}
      selected={tab}
      onSelect={(id) => void navigate({ search: { tab: id } })}
      tabs={PROJECT_TABS.map((id) => ({ id, label: words.project.tabs[id], content: content[id] }))}
    />
  );
}
