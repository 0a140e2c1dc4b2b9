import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { AskLink } from "@/insights";
import { Button } from "@/ui/Button";
import { LINK, Page } from "@/ui/Page";
import { Failed, Skeleton } from "@/ui/States";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/segments";
import { bodyOf, draftOf } from "./draft";
import { type Segment, segmentQuery } from "./queries";
import { SegmentForm } from "./SegmentForm";
import { useSegmentChange } from "./useSegmentChange";

const route = getRouteApi("/signed-in/project/$projectId/segments/$segmentId");

export default function SegmentPage() {
  const projectId = useProjectId();
  const { segmentId } = route.useParams();
  const segment = useQuery(segmentQuery(projectId, Number(segmentId)));
  return (
    <Page
      title={segment.data?.name ?? words.segmentTitle}
      back={
        <Link to="/project/$projectId/segments" params={{ projectId }} className={LINK}>
          {words.title}
        </Link>
      }
      {...(segment.data !== undefined && { actions: <SegmentButtons segment={segment.data} /> })}
    >
      {segment.isPending && <Skeleton rows={6} />}
      {segment.isError && <Failed error={segment.error} onRetry={() => void segment.refetch()} />}
      {segment.data !== undefined && <Editor key={segment.data.id} segment={segment.data} />}
    </Page>
  );
}

function Editor({ segment }: { segment: Segment }) {
  const [draft, setDraft] = useState(() => draftOf(segment));
  const change = useSegmentChange(segment);
  const isChanged = JSON.stringify(bodyOf(draft)) !== JSON.stringify(bodyOf(draftOf(segment)));
  const submit = () =>
    change.mutate(bodyOf(draft), {
      onSuccess: (saved) => {
        setDraft(draftOf(saved));
        toast({ text: words.saved(saved.name) });
      },
    });
  return (
    <>
      <p className="text-ink-2">{segment.deleted ? words.deleted : words.changesAnswers}</p>
      <SegmentForm
        draft={draft}
        onChange={setDraft}
        submitLabel={words.save}
        isBusy={change.isPending}
        isChanged={isChanged && !segment.deleted}
        error={change.error}
        onSubmit={submit}
      />
    </>
  );
}

function SegmentButtons({ segment }: { segment: Segment }) {
  const canEdit = useCanEdit();
  const change = useSegmentChange(segment);
  const hint = canEdit ? undefined : words.viewerHint;
  const set = (deleted: boolean, text: string) =>
    change.mutate({ deleted }, { onSuccess: () => toast({ text }), onError: toastError });
  if (segment.deleted) {
    return (
      <Button
        icon={RotateCcw}
        disabled={!canEdit}
        title={hint}
        isBusy={change.isPending}
        onClick={() => set(false, words.restored(segment.name))}
      >
        {words.restore}
      </Button>
    );
  }
  return (
    <>
      <AskLink about={aboutOf(segment)} />
      <Button
        icon={Trash2}
        disabled={!canEdit}
        title={hint}
        isBusy={change.isPending}
        onClick={() => set(true, words.removed(segment.name))}
      >
        {words.remove}
      </Button>
    </>
  );
}

/** A question about the events in the segment. */
const aboutOf = ({ id }: Segment) => ({
  series: [{ kind: "EventsNode", event: null }],
  properties: [{ type: "segment", key: "id", value: id, operator: "in" }],
});
