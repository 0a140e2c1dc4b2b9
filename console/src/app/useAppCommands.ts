import { FolderOpen, FolderPlus, LogOut, SunMoon } from "lucide-react";
import { useIsAdmin, useProjectId, useProjects } from "@/app/session";
import { useSignOut } from "@/app/useSignOut";
import type { Command } from "@/lib/commands";
import { chooseTheme, THEMES } from "@/lib/theme";
import { words } from "@/words/app";

/** The commands of the frame: projects, themes and the end of the session. */
export function useAppCommands(onNewProject: () => void): Command[] {
  const projectId = useProjectId();
  const projects = useProjects();
  const isAdmin = useIsAdmin();
  const signOut = useSignOut();
  const toProjects = projects
    .filter(({ id }) => String(id) !== projectId)
    .map(
      ({ id, name }): Command => ({
        id: `project ${id}`,
        title: words.openProject(name),
        group: words.allProjects,
        icon: FolderOpen,
        to: `/project/${id}`,
      }),
    );
  const newProject: Command = {
    id: "project new",
    title: words.newProject,
    group: words.allProjects,
    icon: FolderPlus,
    run: onNewProject,
  };
  const themes = THEMES.map(
    (theme): Command => ({
      id: `theme ${theme}`,
      title: words.themeOf(words.themes[theme]),
      group: words.theme,
      icon: SunMoon,
      run: () => chooseTheme(theme),
    }),
  );
  const out: Command = {
    id: "sign out",
    title: words.signOut,
    group: words.account,
    icon: LogOut,
    keywords: words.signOutToo,
    run: signOut,
  };
  return [...toProjects, ...(isAdmin ? [newProject] : []), ...themes, out];
}
