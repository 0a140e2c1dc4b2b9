import { useQuery } from "@tanstack/react-query";
import { Search } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { useProjectId } from "@/app/session";
import { EventDetails, type LiveEvent, personName } from "@/live";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Card } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Failed } from "@/ui/States";
import { type Times, useTimes } from "@/ui/times";
import { words } from "@/words/ingestion";
import { type Trace, type Whereabouts, whereaboutsQuery } from "./findEvent";

interface FindProps {
  text: string;
  onFind: (text: string) => void;
  onLetter: (id: number) => void;
}

/** "Where is my event?", answered in sentences. */
export function Find({ text, onFind, onLetter }: FindProps) {
  const [typed, setTyped] = useState(text);
  const found = useQuery(whereaboutsQuery(useProjectId(), text));
  const send = (event: FormEvent) => {
    event.preventDefault();
    const wanted = typed.trim();
    if (wanted === text && wanted !== "") void found.refetch();
    else onFind(wanted);
  };
  return (
    <Card title={words.find.title}>
      <form onSubmit={send} className="flex flex-wrap items-end gap-2">
        <TextField
          label={words.find.label}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          data-filter
          className="max-w-lg grow"
        />
        <Button
          type="submit"
          look="primary"
          icon={Search}
          isBusy={text !== "" && found.isPending}
          disabled={typed.trim() === "" && text === ""}
        >
          {words.find.submit}
        </Button>
      </form>
      <div aria-live="polite" className="mt-3 empty:hidden">
        {text !== "" && found.isPending && !found.error && (
          <p className="text-ink-2">{words.find.searching}</p>
        )}
        {found.error ? <Failed error={found.error} onRetry={() => void found.refetch()} /> : null}
        {text !== "" && found.data !== undefined && (
          <Answer found={found.data} onLetter={onLetter} />
        )}
      </div>
    </Card>
  );
}

function Answer({ found, onLetter }: { found: Whereabouts; onLetter: (id: number) => void }) {
  const times = useTimes();
  const { stored, dropped, changed, letters, waiting } = found;
  const hasTrace = stored.length + dropped.length + letters.length > 0;
  const mayWait = waiting !== null && waiting > 0 && stored.length === 0;
  return (
    <div className="flex flex-col gap-2">
      {stored.length > 0 ? <Stored found={found} /> : <p>{words.find.notStored}</p>}
      {dropped.map((trace, place) => (
        <Sentence key={keyOf(trace, place)}>
          {sentenceOf(trace, times, words.find.dropped)}
        </Sentence>
      ))}
      {changed.map((trace, place) => (
        <Sentence key={keyOf(trace, place)}>
          {sentenceOf(trace, times, words.find.changed)}
        </Sentence>
      ))}
      {letters.map((letter) => (
        <div key={letter.id} className="flex flex-wrap items-center gap-2">
          <Sentence>{words.find.inLetter(times.at(letter.received_at), letter.error)}</Sentence>
          <Button small onClick={() => onLetter(letter.id)}>
            {words.find.toLetter}
          </Button>
        </div>
      ))}
      {mayWait && <p>{words.find.waits(waiting)}</p>}
      {!hasTrace && !mayWait && (
        <>
          <p>{words.find.nowhere}</p>
          <ul className="list-disc pl-5">
            {words.find.causes.map((cause) => (
              <li key={cause}>{cause}</li>
            ))}
          </ul>
        </>
      )}
      {stored.length === 0 && <p className="text-ink-2 text-sm">{words.find.limits}</p>}
    </div>
  );
}

function Stored({ found }: { found: Whereabouts }) {
  const times = useTimes();
  const { stored, hasMore } = found;
  const [first] = stored;
  if (found.isUuid && stored.length === 1 && first !== undefined) {
    return (
      <>
        <Sentence>{storedSentence(first, times)}</Sentence>
        <EventDetails event={first} />
      </>
    );
  }
  return (
    <>
      <p>{words.find.storedOf(stored.length, hasMore)}</p>
      <ul className="list-disc pl-5">
        {stored.map((event) => (
          <li key={event.id}>
            <Visible
              text={`${words.find.named(event.event)}, ${times.at(event.timestamp, TO_SECOND)}`}
            />
          </li>
        ))}
      </ul>
    </>
  );
}

const TO_SECOND = { seconds: true };

const storedSentence = (event: LiveEvent, times: Times): string =>
  words.find.stored(event.event, personName(event), times.at(event.timestamp, TO_SECOND));

function sentenceOf(
  trace: Trace,
  times: Times,
  say: (event: string, time: string, meaning: string) => string,
): string {
  const event = trace.event ? words.find.named(trace.event) : words.find.anEvent;
  return say(event, times.at(trace.received_at), trace.meaning);
}

function Sentence({ children }: { children: string }): ReactNode {
  return (
    <p>
      <Visible text={children} />
    </p>
  );
}

const keyOf = (trace: Trace, place: number): string => `${trace.received_at} ${place}`;
