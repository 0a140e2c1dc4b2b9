import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { AskLink } from "@/insights";
import { DeletionButton } from "@/namedItems";
import { LINK, Page } from "@/ui/Page";
import { Failed, Skeleton } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words } from "@/words/actions";
import { formatNumber } from "@/words/format";
import { ActionForm } from "./ActionForm";
import { bodyOf, draftOf } from "./draft";
import { type Action, actionQuery, countQuery } from "./queries";
import { useActionChange } from "./useActionChange";

const route = getRouteApi("/signed-in/project/$projectId/actions/$actionId");

export default function ActionPage() {
  const projectId = useProjectId();
  const { actionId } = route.useParams();
  const action = useQuery(actionQuery(projectId, Number(actionId)));
  return (
    <Page
      title={action.data?.name ?? words.actionTitle}
      back={
        <Link to="/project/$projectId/actions" params={{ projectId }} className={LINK}>
          {words.title}
        </Link>
      }
      {...(action.data !== undefined && { actions: <ActionButtons action={action.data} /> })}
    >
      {action.isPending && <Skeleton rows={6} />}
      {action.isError && <Failed error={action.error} onRetry={() => void action.refetch()} />}
      {action.data !== undefined && <Editor key={action.data.id} action={action.data} />}
    </Page>
  );
}

function Editor({ action }: { action: Action }) {
  const projectId = useProjectId();
  const [draft, setDraft] = useState(() => draftOf(action));
  const change = useActionChange(action);
  const count = useQuery({ ...countQuery(projectId, action), enabled: !action.deleted }).data;
  const isChanged = JSON.stringify(bodyOf(draft)) !== JSON.stringify(bodyOf(draftOf(action)));
  const submit = () =>
    change.mutate(bodyOf(draft), {
      onSuccess: (saved) => {
        setDraft(draftOf(saved));
        toast({ text: words.saved(saved.name) });
      },
    });
  return (
    <>
      <p className="text-ink-2">
        {action.deleted
          ? words.deleted
          : words.matched(count === undefined ? "…" : formatNumber(count))}
      </p>
      <ActionForm
        draft={draft}
        onChange={setDraft}
        submitLabel={words.save}
        isBusy={change.isPending}
        isChanged={isChanged && !action.deleted}
        error={change.error}
        onSubmit={submit}
      />
    </>
  );
}

function ActionButtons({ action }: { action: Action }) {
  const change = useActionChange(action);
  return (
    <>
      {!action.deleted && <AskLink about={aboutOf(action)} />}
      <DeletionButton item={action} words={words} change={change} />
    </>
  );
}

/** A question about how often the action happens. */
const aboutOf = ({ id, name }: Action) => ({ series: [{ kind: "ActionsNode", id, name }] });
