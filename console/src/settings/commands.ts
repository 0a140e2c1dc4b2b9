import { Building2, CircleUser, KeyRound, Settings, UserPlus } from "lucide-react";
import type { Command, CommandSource } from "@/lib/commands";
import { words as app } from "@/words/app";
import { words } from "@/words/settings";
import { ACCOUNT_TABS, ORGANIZATION_TABS, PROJECT_TABS } from "./search";

/** Every tab of the settings, by name. */
export const commands: CommandSource = (_, { projectId }) => {
  const project = PROJECT_TABS.map(
    (tab): Command => ({
      id: `settings project ${tab}`,
      title: words.project.tabs[tab],
      group: words.projectTitle,
      icon: tab === "keys" ? KeyRound : Settings,
      to: `/project/${projectId}/settings?tab=${tab}`,
    }),
  );
  const organization = ORGANIZATION_TABS.map(
    (tab): Command => ({
      id: `settings organization ${tab}`,
      title: words.organization.tabs[tab],
      group: app.organizationSettings,
      icon: tab === "invites" ? UserPlus : Building2,
      to: `/organization?tab=${tab}`,
    }),
  );
  const account = ACCOUNT_TABS.map(
    (tab): Command => ({
      id: `settings account ${tab}`,
      title: words.account.tabs[tab],
      group: app.yourAccount,
      icon: CircleUser,
      to: `/account?tab=${tab}`,
    }),
  );
  return Promise.resolve([...project, ...organization, ...account]);
};
