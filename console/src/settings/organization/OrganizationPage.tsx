import { getRouteApi } from "@tanstack/react-router";
import { useMe } from "@/app/session";
import { Page } from "@/ui/Page";
import { Tabs } from "@/ui/Tabs";
import { words } from "@/words/settings";
import { ORGANIZATION_TABS } from "../search";
import { GeneralTab } from "./GeneralTab";
import { InvitesTab } from "./InvitesTab";
import { MembersTab } from "./MembersTab";
import { RolesTab } from "./RolesTab";
import { SignInTab } from "./SignInTab";

const route = getRouteApi("/signed-in/organization/");
const CONTENT = {
  members: <MembersTab />,
  invites: <InvitesTab />,
  roles: <RolesTab />,
  signIn: <SignInTab />,
  general: <GeneralTab />,
};

export default function OrganizationPage() {
  const { tab = "members" } = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe();
  return (
    <Page title={me.organization?.name ?? words.organizationTitle}>
      <Tabs
        label={words.sections}
        selected={tab}
        onSelect={(id) => void navigate({ search: { tab: id } })}
        tabs={ORGANIZATION_TABS.map((id) => ({
          id,
          label: words.organization.tabs[id],
          content: CONTENT[id],
        }))}
      />
    </Page>
  );
}
