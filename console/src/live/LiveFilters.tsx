import { X } from "lucide-react";
import { useMemo } from "react";
import { actionIn, withActions } from "@/actions";
import { useProjectId } from "@/app/session";
import { eventOptions } from "@/events";
import { nameOptions, valueOptions } from "@/filters";
import { Button } from "@/ui/Button";
import { Combobox } from "@/ui/combobox";
import { words } from "@/words/live";
import type { LiveEvent } from "./liveEvent";
import { Mine } from "./Mine";
import type { ChangeSearch, LiveSearch } from "./search";

interface LiveFiltersProps {
  search: LiveSearch;
  onChange: ChangeSearch;
  /** Shown now: what they have is offered. */
  events: readonly LiveEvent[];
  earlier: readonly LiveEvent[];
  /** The distinct id of this browser; "" for none. */
  ownId: string;
  onOwnId: (id: string) => void;
}

const NONE: ChangedFilters = {
  event: undefined,
  distinct_id: undefined,
  person_id: undefined,
  property: undefined,
  value: undefined,
  mine: undefined,
};
type ChangedFilters = Parameters<ChangeSearch>[0];

export function LiveFilters(props: LiveFiltersProps) {
  const { search, onChange, events, earlier } = props;
  const projectId = useProjectId();
  const people = useMemo(() => {
    const ids = new Set([...events, ...earlier].slice(0, 200).map((event) => event.distinct_id));
    return [...ids].map((id) => ({ value: id }));
  }, [events, earlier]);
  const event = actionIn(search.event ?? "") === null ? search.event : undefined;
  const hasFilter = Object.keys(NONE).some((name) => name in search);
  return (
    <search aria-label={words.filters} className="flex flex-wrap items-end gap-x-3 gap-y-2">
      <div className="w-56 max-w-full max-sm:w-full">
        <Combobox
          label={words.event}
          options={withActions(eventOptions(projectId), projectId)}
          value={search.event ?? null}
          labelOf={(option) => actionIn(option)?.name}
          onChange={(value) => onChange({ event: value ?? undefined })}
          placeholder={words.anyEvent}
          freeEntry
          clearable
        />
      </div>
      <div className="w-56 max-w-full max-sm:w-full">
        <Combobox
          label={words.distinctId}
          options={people}
          value={search.distinct_id ?? null}
          onChange={(value) => onChange({ distinct_id: value ?? undefined, mine: undefined })}
          placeholder={words.anyPerson}
          freeEntry
          clearable
        />
      </div>
      <div className="w-44 max-w-full max-sm:flex-1">
        <Combobox
          label={words.property}
          options={nameOptions(projectId, { kind: "event", event })}
          value={search.property ?? null}
          onChange={(value) => onChange({ property: value ?? undefined, value: undefined })}
          placeholder={words.anyProperty}
          freeEntry
          clearable
        />
      </div>
      {search.property !== undefined && (
        <div className="w-44 max-w-full max-sm:flex-1">
          <Combobox
            label={words.value}
            options={valueOptions(projectId, search.property, {
              kind: "event",
              event,
            })}
            value={search.value ?? null}
            onChange={(value) => onChange({ value: value ?? undefined })}
            placeholder={words.anyValue}
            freeEntry
            clearable
          />
        </div>
      )}
      <Mine
        isOn={search.mine === true}
        ownId={props.ownId}
        onOwnId={props.onOwnId}
        onChange={onChange}
        events={events}
      />
      {hasFilter && (
        <Button look="quiet" icon={X} onClick={() => onChange(NONE)}>
          {words.clearFilters}
        </Button>
      )}
    </search>
  );
}
