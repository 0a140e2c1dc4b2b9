import { Outlet, useNavigate } from "@tanstack/react-router";
import { Command, Menu as MenuIcon } from "lucide-react";
import { type ComponentType, type ReactNode, useState } from "react";
import { Connection } from "@/app/Connection";
import { DESTINATIONS } from "@/app/navigation";
import { ProjectSwitch } from "@/app/ProjectSwitch";
import { Sidebar } from "@/app/Sidebar";
import { SignInDialogs } from "@/app/SignInDialogs";
import { useProject, useProjectId } from "@/app/session";
import { UserMenu } from "@/app/UserMenu";
import { useRouteFocus } from "@/app/useRouteFocus";
import { loadPart } from "@/lib/parts";
import { focusFilter, useShortcuts } from "@/lib/shortcuts";
import { Button, IconButton } from "@/ui/Button";
import { Keys } from "@/ui/Kbd";
import { TimesIn } from "@/ui/Time";
import { toastError } from "@/ui/Toast";
import { browserZone } from "@/ui/zonedTime";
import { words } from "@/words/app";

const loadCommandMenu = () => import("@/app/CommandMenu");
const loadNewProject = () => import("@/app/NewProject");
const loadShortcutList = () => import("@/app/ShortcutList");

/** The frame around every screen. */
export function Shell() {
  const newProject = useDialog(loadNewProject, {});
  const menu = useDialog(loadCommandMenu, { onNewProject: newProject.open });
  const shortcuts = useDialog(loadShortcutList, {});
  const [isNavigationOpen, setNavigationOpen] = useState(false);
  const project = useProject();
  useRouteFocus();
  useGlobalShortcuts(menu.open, shortcuts.open);
  return (
    <div className="flex min-h-dvh">
      <a
        href="#main"
        className="-translate-y-full fixed top-0 left-2 z-50 rounded-b-md bg-accent px-3 py-2 text-accent-ink focus:translate-y-0"
      >
        {words.skip}
      </a>
      <Sidebar isOpen={isNavigationOpen} onClose={() => setNavigationOpen(false)} />
      <div className="flex min-w-0 grow flex-col">
        <header className="sticky top-0 z-30 flex h-12 items-center gap-2 border-line border-b bg-panel px-3">
          <IconButton
            icon={MenuIcon}
            label={words.openNavigation}
            onClick={() => setNavigationOpen(true)}
            className="md:hidden"
          />
          <ProjectSwitch onNew={newProject.open} />
          <Button look="quiet" icon={Command} onClick={menu.open} className="ml-auto">
            <span className="max-sm:sr-only">{words.find}</span>
            <span aria-hidden className="hidden md:inline">
              <Keys keys="mod+k" />
            </span>
          </Button>
          <UserMenu onShortcuts={shortcuts.open} />
        </header>
        <TimesIn zone={project?.timezone ?? browserZone()}>
          <Connection />
          <main id="main" tabIndex={-1} className="grow outline-none">
            <Outlet />
          </main>
        </TimesIn>
      </div>
      {menu.dialog}
      {newProject.dialog}
      {shortcuts.dialog}
      <SignInDialogs />
    </div>
  );
}

type LoadDialog<P> = () => Promise<{ default: ComponentType<P & { onClose: () => void }> }>;

/** A dialog that is loaded when it is opened. Where it cannot be, a message says so. */
function useDialog<P extends object>(
  load: LoadDialog<P>,
  props: P,
): { dialog: ReactNode; open: () => void } {
  const [Content, setContent] = useState<ComponentType<P & { onClose: () => void }> | null>(null);
  const open = async () => {
    try {
      const { default: loaded } = await loadPart(load);
      setContent(() => loaded);
    } catch (error) {
      toastError(error);
    }
  };
  return {
    dialog: Content && <Content {...props} onClose={() => setContent(null)} />,
    open: () => void open(),
  };
}

function useGlobalShortcuts(openMenu: () => void, showKeys: () => void): void {
  const navigate = useNavigate();
  const projectId = useProjectId();
  useShortcuts([
    { keys: "mod+k", label: words.find, group: "do", run: openMenu },
    { keys: "/", label: words.filter, group: "do", run: focusFilter },
    { keys: "?", label: words.shortcuts, group: "do", run: showKeys },
    ...DESTINATIONS.map(({ keys, label, to }) => ({
      keys,
      label,
      group: "go" as const,
      run: () => void navigate({ to, params: { projectId } }),
    })),
  ]);
}
