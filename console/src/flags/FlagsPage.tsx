import { useQuery } from "@tanstack/react-query";
import { Flag, Plus } from "lucide-react";
import { useCanEdit, useProject, useProjectId } from "@/app/session";
import { Button, LinkButton } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { Page } from "@/ui/Page";
import { Empty, Loaded } from "@/ui/States";
import { Tooltip } from "@/ui/Tooltip";
import { words } from "@/words/flagList";
import { FlagTable } from "./list/FlagTable";
import { flagListQuery } from "./listQueries";
import { useHost } from "./queries";
import { snippet } from "./snippets";
import { useFlagChanges } from "./useFlagChanges";

export default function FlagsPage() {
  const projectId = useProjectId();
  useFlagChanges(projectId);
  const list = useQuery(flagListQuery(projectId));
  return (
    <Page title={words.title} actions={<NewFlag />}>
      <Loaded query={list} rows={8}>
        {(loaded) =>
          loaded.total === 0 ? (
            <NoFlags />
          ) : (
            <FlagTable
              projectId={projectId}
              list={loaded}
              isLoading={list.isFetching && loaded.flags.length < loaded.total}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

function NewFlag() {
  const projectId = useProjectId();
  const canEdit = useCanEdit();
  if (!canEdit) {
    return (
      <Tooltip text={words.viewer}>
        <span>
          <Button look="primary" icon={Plus} disabled>
            {words.newFlag}
          </Button>
        </span>
      </Tooltip>
    );
  }
  return (
    <LinkButton
      look="primary"
      icon={Plus}
      to="/project/$projectId/flags/new"
      params={{ projectId }}
    >
      {words.newFlag}
    </LinkButton>
  );
}

function NoFlags() {
  const project = useProject();
  const text = snippet("js", {
    key: "my-flag",
    token: project?.api_token ?? "",
    host: useHost(),
    variants: [],
  });
  return (
    <Empty icon={Flag} title={words.none}>
      <p>{words.noneHint}</p>
      <div className="w-full max-w-xl">
        <Code text={text} what={words.snippet} />
      </div>
      <NewFlag />
    </Empty>
  );
}
