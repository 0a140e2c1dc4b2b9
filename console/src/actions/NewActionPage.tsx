import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { LINK, Page } from "@/ui/Page";
import { toast } from "@/ui/Toast";
import { words } from "@/words/actions";
import { ActionForm } from "./ActionForm";
import { NEW_ACTION } from "./draft";
import { useCreation } from "./useActionChange";

const route = getRouteApi("/signed-in/project/$projectId/actions/new");

export default function NewActionPage() {
  const projectId = useProjectId();
  const navigate = route.useNavigate();
  const [draft, setDraft] = useState(NEW_ACTION);
  const creation = useCreation();
  const submit = () =>
    creation.mutate(draft, {
      onSuccess: async ({ id, name }) => {
        toast({ text: words.created(name) });
        await navigate({
          to: "/project/$projectId/actions/$actionId",
          params: { projectId, actionId: String(id) },
        });
      },
    });
  return (
    <Page
      title={words.newTitle}
      back={
        <Link to="/project/$projectId/actions" params={{ projectId }} className={LINK}>
          {words.title}
        </Link>
      }
    >
      <ActionForm
        draft={draft}
        onChange={setDraft}
        submitLabel={words.submit}
        isBusy={creation.isPending}
        isChanged
        error={creation.error}
        onSubmit={submit}
      />
    </Page>
  );
}
