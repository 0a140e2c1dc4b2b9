import { MapPin, Plus } from "lucide-react";
import { useState } from "react";
import { useCanEdit } from "@/app/session";
import { Button } from "@/ui/Button";
import { lazyPart } from "@/ui/lazyPart";
import { Visible } from "@/ui/properties";
import { useTimes } from "@/ui/times";
import { words } from "@/words/annotations";
import { type AnnotatedPlace, useAnnotatedPlace } from "./place";
import type { Annotation } from "./queries";

const NewDialog = lazyPart(
  "new annotation",
  async () => (await import("./AnnotationDialog")).NewAnnotationDialog,
);
const EditDialog = lazyPart(
  "annotation",
  async () => (await import("./AnnotationDialog")).EditAnnotationDialog,
);

interface Props {
  annotations: readonly Annotation[];
  /** The moment that a new one is first about. */
  at: Date;
  zone: string;
}

/** The annotations of a chart in words, and a button that adds one. */
export function ChartAnnotations(props: Props) {
  const place = useAnnotatedPlace();
  return place === null ? null : <Annotations {...props} place={place} />;
}

function Annotations({ annotations, at, zone, place }: Props & { place: AnnotatedPlace }) {
  const canEdit = useCanEdit();
  const [open, setOpen] = useState<Annotation | "new" | null>(null);
  const close = () => setOpen(null);
  return (
    <section aria-label={words.inRange} className="flex min-w-0 flex-col items-start gap-1">
      {annotations.length > 0 && (
        <ul className="flex max-h-40 w-full min-w-0 flex-col gap-1 overflow-y-auto">
          {annotations.map((one) => (
            <Line key={one.id} annotation={one} onOpen={canEdit ? () => setOpen(one) : undefined} />
          ))}
        </ul>
      )}
      {canEdit && (
        <Button small icon={Plus} onClick={() => setOpen("new")}>
          {words.add}
        </Button>
      )}
      {open === "new" && <NewDialog place={place} at={at} zone={zone} onClose={close} />}
      {open !== null && open !== "new" && (
        <EditDialog annotation={open} zone={zone} onClose={close} />
      )}
    </section>
  );
}

interface LineProps {
  annotation: Annotation;
  onOpen: (() => void) | undefined;
}

function Line({ annotation: { content, date_marker }, onOpen }: LineProps) {
  const times = useTimes();
  return (
    <li className="flex min-w-0 items-baseline gap-2 text-sm">
      <MapPin aria-hidden className="size-3.5 shrink-0 self-center text-ink-3" />
      <time dateTime={date_marker} className="shrink-0 text-ink-3" title={times.exact(date_marker)}>
        {times.at(date_marker)}
      </time>
      {onOpen === undefined ? (
        <span className="min-w-0 truncate">
          <Visible text={content} />
        </span>
      ) : (
        <button
          type="button"
          className="min-w-0 truncate rounded text-left hover:underline"
          onClick={onOpen}
        >
          <Visible text={content} />
        </button>
      )}
    </li>
  );
}
