import { getRouteApi } from "@tanstack/react-router";
import { Page } from "@/ui/Page";
import { Tabs } from "@/ui/Tabs";
import { words } from "@/words/settings";
import { ACCOUNT_TABS } from "../search";
import { KeysTab } from "./KeysTab";
import { PasswordTab } from "./PasswordTab";
import { ProfileTab } from "./ProfileTab";
import { SecondFactorTab } from "./SecondFactorTab";
import { SessionsTab } from "./SessionsTab";

const route = getRouteApi("/signed-in/account/");
const CONTENT = {
  profile: <ProfileTab />,
  password: <PasswordTab />,
  factor: <SecondFactorTab />,
  sessions: <SessionsTab />,
  keys: <KeysTab />,
};

export default function AccountPage() {
  const { tab = "profile" } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Page title={words.accountTitle}>
      <Tabs
        label={words.sections}
        selected={tab}
        onSelect={(id) => void navigate({ search: { tab: id } })}
        tabs={ACCOUNT_TABS.map((id) => ({
          id,
          label: words.account.tabs[id],
          content: CONTENT[id],
        }))}
      />
    </Page>
  );
}
