import { Plus } from "lucide-react";
import { useState } from "react";
import type { Uses } from "@/insights/kinds/kind";
import { type Question, type Series, seriesOf } from "@/insights/question/model";
import { useStableKeys } from "@/lib/hooks";
import { Button } from "@/ui/Button";
import { words } from "@/words/insightsBuilder";
import { EventPicker } from "./EventPicker";
import { SeriesRow } from "./SeriesRow";

interface Props {
  question: Question;
  uses: Uses["series"];
  onChange: (question: Question) => void;
  errorAt: (attr: string) => string | undefined;
}

/** The series of a question, as many as its kind allows. */
export function SeriesList({ question, uses, onChange, errorAt }: Props) {
  const { series } = question;
  const keys = useStableKeys(series.length);
  const [isAdding, setAdding] = useState(false);
  const shown = series.slice(0, uses.most);
  const canAdd = series.length < uses.most;
  const isShort = series.length < uses.least;
  const change = (next: readonly Series[]) => onChange({ ...question, series: next });
  const add = (added: Series) => {
    setAdding(false);
    change([...series, added]);
  };
  return (
    <fieldset className="flex min-w-0 flex-col gap-3">
      <legend className="mb-2 font-medium">{uses.title}</legend>
      {shown.length > 0 && (
        <ol className="flex min-w-0 flex-col gap-3">
          {shown.map((one, place) => (
            <SeriesRow
              key={keys.of(place)}
              series={one}
              mark={uses.mark(place)}
              hasMath={uses.hasMath}
              {...(uses.maths !== undefined && { maths: uses.maths })}
              {...(uses.canSkip !== undefined && { step: { canSkip: uses.canSkip(place) } })}
              canAdd={canAdd}
              onChange={(next) => change(series.with(place, next))}
              onDuplicate={() => change(series.toSpliced(place + 1, 0, one))}
              onRemove={() => {
                keys.remove(place);
                change(series.toSpliced(place, 1));
              }}
              errorAt={(attr) => errorAt(`series__${place}__${attr}`)}
            />
          ))}
        </ol>
      )}
      {canAdd && (isAdding || isShort) && (
        <EventPicker
          key={series.length}
          label={words.addSeries(uses.one)}
          event={undefined}
          onChange={(event) => add(seriesOf(event))}
          onAction={(action) => add({ ...seriesOf(null), action })}
          autoFocus={isAdding || series.length > 0}
        />
      )}
      {canAdd && !isAdding && !isShort && (
        <div>
          <Button small look="quiet" icon={Plus} onClick={() => setAdding(true)}>
            {words.addSeries(uses.one)}
          </Button>
        </div>
      )}
      {errorAt("series") && <p className="text-bad text-sm">{errorAt("series")}</p>}
    </fieldset>
  );
}
