import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { useProjectId } from "@/app/session";
import type { Connection } from "@/lib/connection";
import { EventDetails, type LiveEvent, personName } from "@/live";
import { Button, LinkButton } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { useTimes } from "@/ui/times";
import { words } from "@/words/home";
import { hasEventsQuery } from "./queries";

interface WaitingProps {
  isFirst: boolean;
  connection: Connection;
}

/** Says that the first event is awaited, or shows it once it has arrived. */
export function Waiting({ isFirst, connection }: WaitingProps) {
  const isLost = connection === "waiting" || connection === "ended";
  return (
    <Card>
      <div role="status" className="flex items-center gap-3">
        <span
          aria-hidden
          className="size-3 shrink-0 animate-[pulse-soft_1.4s_ease_infinite] rounded-full bg-accent"
        />
        <div>
          <h2 className="font-semibold">{isFirst ? words.waiting.title : words.waiting.again}</h2>
          <p className={isLost ? "text-warn" : "text-ink-2"}>
            {isLost ? words.waiting.lost : words.waiting.hint}
          </p>
        </div>
      </div>
    </Card>
  );
}

/** The event that was awaited. */
export function FirstEvent({ event, onDone }: { event: LiveEvent; onDone: () => void }) {
  const times = useTimes();
  const projectId = useProjectId();
  const navigate = useNavigate();
  const queries = useQueryClient();
  useEffect(() => {
    queries.setQueryData(hasEventsQuery(projectId).queryKey, true);
  }, [queries, projectId]);
  const goHome = () => {
    onDone();
    void navigate({ to: "/project/$projectId", params: { projectId }, search: {} });
  };
  return (
    <Card
      title={<span role="status">{words.waiting.arrived}</span>}
      actions={
        <>
          <LinkButton small to="/project/$projectId/live" params={{ projectId }}>
            {words.waiting.toLive}
          </LinkButton>
          <Button small look="primary" onClick={goHome}>
            {words.waiting.toHome}
          </Button>
        </>
      }
    >
      <p className="mb-3">
        <strong className="text-lg">
          <Visible text={event.event} />
        </strong>{" "}
        <span className="text-ink-2">
          <Visible
            text={words.waiting.of(personName(event), times.at(event.timestamp, { seconds: true }))}
          />
        </span>
      </p>
      <EventDetails event={event} />
    </Card>
  );
}
