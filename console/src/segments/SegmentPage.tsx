import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { AskLink } from "@/insights";
import { DeletionButton } from "@/namedItems";
import { LINK, Page } from "@/ui/Page";
import { Failed, Skeleton } from "@/ui/States";
import { toast } from "@/ui/Toast";
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
  const change = useSegmentChange(segment);
  return (
    <>
      {!segment.deleted && <AskLink about={aboutOf(segment)} />}
      <DeletionButton item={segment} words={words} change={change} />
    </>
  );
}

/** A question about the events in the segment. */
const aboutOf = ({ id }: Segment) => ({
  series: [{ kind: "EventsNode", event: null }],
  properties: [{ type: "segment", key: "id", value: id, operator: "in" }],
});
