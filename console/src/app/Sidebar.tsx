import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { Dialog } from "radix-ui";
import { SECTIONS } from "@/app/navigation";
import { useIsUnknownProject, useProjectId } from "@/app/session";
import { IconButton } from "@/ui/Button";
import { focusSheet, useFocusBack } from "@/ui/focus";
import { words } from "@/words/app";
import { words as common } from "@/words/ui";

interface SidebarProps {
  /** Set on a narrow screen, where the sidebar covers the page. */
  isOpen: boolean;
  onClose: () => void;
}

export function Sidebar({ isOpen, onClose }: SidebarProps) {
  return (
    <>
      <div className="sticky top-0 hidden h-dvh w-52 shrink-0 overflow-y-auto border-line border-r bg-panel md:block">
        <Navigation />
      </div>
      <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
        {isOpen && <Sheet onClose={onClose} />}
      </Dialog.Root>
    </>
  );
}

/** The navigation of a narrow screen. */
function Sheet({ onClose }: { onClose: () => void }) {
  const giveFocusBack = useFocusBack();
  return (
    <Dialog.Portal>
      <Dialog.Overlay className="fixed inset-0 z-40 bg-backdrop" />
      <Dialog.Content
        aria-describedby={undefined}
        onOpenAutoFocus={focusSheet}
        onCloseAutoFocus={giveFocusBack}
        className="outline-none fixed inset-y-0 left-0 z-50 w-64 overflow-y-auto border-line border-r bg-panel"
      >
        <Dialog.Title className="sr-only">{words.navigation}</Dialog.Title>
        <Dialog.Close asChild>
          <IconButton icon={X} label={common.close} className="absolute top-2 right-2" />
        </Dialog.Close>
        <Navigation onGone={onClose} />
      </Dialog.Content>
    </Dialog.Portal>
  );
}

function Brand() {
  return (
    <Link to="/" className="-mb-2 flex h-12 items-center gap-2 px-2 font-semibold">
      <svg aria-hidden="true" viewBox="0 0 32 32" className="size-5 text-accent">
        <path fill="currentColor" d="M7 4h19l-6 7 6 7H10v10H7z" />
      </svg>
      {words.product}
    </Link>
  );
}

function Navigation({ onGone }: { onGone?: () => void }) {
  const projectId = useProjectId();
  const sections = useIsUnknownProject() ? [] : SECTIONS;
  return (
    <nav aria-label={words.navigation} className="flex flex-col gap-3 px-2 pb-4">
      <Brand />
      {sections.map((section) => (
        <div key={section.label ?? ""}>
          {section.label && (
            <h2 className="px-2.5 pb-0.5 font-medium text-ink-3 text-sm">{section.label}</h2>
          )}
          <ul>
            {section.destinations.map(({ to, label, icon: Icon }) => (
              <li key={to}>
                <Link
                  to={to}
                  params={{ projectId }}
                  activeOptions={{ exact: to === "/project/$projectId", includeSearch: false }}
                  onClick={() => onGone?.()}
                  className="flex items-center gap-2.5 rounded-md px-2.5 py-1.5 text-ink-2 hover:bg-sunken hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent-text"
                >
                  <Icon aria-hidden className="size-4 shrink-0" />
                  {label}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}
