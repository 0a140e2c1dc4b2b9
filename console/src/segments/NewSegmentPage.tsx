import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { LINK, Page } from "@/ui/Page";
import { toast } from "@/ui/Toast";
import { words } from "@/words/segments";
import { NEW_SEGMENT } from "./draft";
import { SegmentForm } from "./SegmentForm";
import { useSegmentCreation } from "./useSegmentChange";

const route = getRouteApi("/signed-in/project/$projectId/segments/new");

export default function NewSegmentPage() {
  const projectId = useProjectId();
  const navigate = route.useNavigate();
  const [draft, setDraft] = useState(NEW_SEGMENT);
  const creation = useSegmentCreation();
  const submit = () =>
    creation.mutate(draft, {
      onSuccess: async ({ id, name }) => {
        toast({ text: words.created(name) });
        await navigate({
          to: "/project/$projectId/segments/$segmentId",
          params: { projectId, segmentId: String(id) },
        });
      },
    });
  return (
    <Page
      title={words.newTitle}
      back={
        <Link to="/project/$projectId/segments" params={{ projectId }} className={LINK}>
          {words.title}
        </Link>
      }
    >
      <SegmentForm
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
