import { Link, Outlet } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { useIsUnknownProject, useProjects } from "@/app/session";
import { LINK, Page } from "@/ui/Page";
import { Empty } from "@/ui/States";
import { words } from "@/words/app";

/** The screens of a project, or what to do where the address names none of the user's. */
export function ProjectScreens() {
  const isUnknown = useIsUnknownProject();
  return isUnknown ? <UnknownProject /> : <Outlet />;
}

function UnknownProject() {
  const title = words.unknownProject;
  return (
    <Page title={title} heading={<span className="sr-only">{title}</span>}>
      <Empty icon={Compass} title={title}>
        <p>{words.unknownProjectHint}</p>
        <ul>
          {useProjects().map(({ id, name }) => (
            <li key={id}>
              <Link to="/project/$projectId" params={{ projectId: String(id) }} className={LINK}>
                <bdi>{name}</bdi>
              </Link>
            </li>
          ))}
        </ul>
      </Empty>
    </Page>
  );
}
