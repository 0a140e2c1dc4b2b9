import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { Flag, Plus, Trash2 } from "lucide-react";
import { useCanEdit, useProject, useProjectId } from "@/app/session";
import { Button, LinkButton } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { lazyPart } from "@/ui/lazyPart";
import { LINK, Page } from "@/ui/Page";
import { Empty, Loaded } from "@/ui/States";
import { Tooltip } from "@/ui/Tooltip";
import { words } from "@/words/flagList";
import { FlagTable } from "./list/FlagTable";
import { flagListQuery } from "./listQueries";
import { useHost } from "./queries";
import { snippet } from "./snippets";
import { useFlagChanges } from "./useFlagChanges";

const DeletedFlags = lazyPart(
  "deleted flags",
  async () => (await import("./list/DeletedFlags")).DeletedFlags,
);

export default function FlagsPage() {
  const projectId = useProjectId();
  const { deleted } = useSearch({ from: "/signed-in/project/$projectId/flags" });
  if (!deleted) return <LiveFlags />;
  return (
    <Page
      title={words.deleted.title}
      description={words.deleted.hint}
      back={
        <Link to="/project/$projectId/flags" params={{ projectId }} className={LINK}>
          {words.title}
        </Link>
      }
    >
      <DeletedFlags projectId={projectId} />
    </Page>
  );
}

function LiveFlags() {
  const projectId = useProjectId();
  useFlagChanges(projectId);
  const list = useQuery(flagListQuery(projectId));
  return (
    <Page
      title={words.title}
      actions={
        <>
          <LinkButton
            look="quiet"
            icon={Trash2}
            to="/project/$projectId/flags"
            params={{ projectId }}
            search={{ deleted: true }}
          >
            {words.deleted.link}
          </LinkButton>
          <NewFlag />
        </>
      }
    >
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
