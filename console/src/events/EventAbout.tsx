import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { Combobox } from "@/ui/combobox";
import { Switch } from "@/ui/Field";
import { Card, Facts } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { words } from "@/words/events";
import { type Definition, definitionMarksQuery } from "./queries";
import { useDefinitionChanges } from "./useDefinitionChanges";

/** A card of what users note about an event: tags, marks, whether webhooks are notified. */
export function EventAbout({ definition }: { definition: Definition }) {
  const canEdit = useCanEdit();
  const { change } = useDefinitionChanges(definition);
  return (
    <Card title={words.facts.title}>
      <div className="flex flex-col gap-4">
        <Facts
          facts={[
            [words.facts.seen, <Time key="seen" at={definition.last_seen_at} />],
            [words.facts.created, <Time key="created" at={definition.created_at} />],
          ]}
        />
        <Combobox
          multiple
          label={words.facts.tags}
          options={[]}
          freeEntry
          value={definition.tags}
          onChange={(tags) => change.mutate({ tags })}
          placeholder={canEdit ? words.facts.addTag : words.facts.noTags}
          disabled={!canEdit}
        />
        <Marks definition={definition} />
        <Hinted hint={words.facts.announcedHint}>
          <Switch
            label={words.facts.announced}
            showsLabel
            isOn={definition.post_to_chat}
            disabled={!canEdit}
            onChange={(post_to_chat) => change.mutate({ post_to_chat })}
          />
        </Hinted>
        {!canEdit && <p className="text-ink-2 text-sm">{words.facts.viewer}</p>}
      </div>
    </Card>
  );
}

function Marks({ definition }: { definition: Definition }) {
  const marks = useQuery(definitionMarksQuery(useProjectId(), definition.id));
  const canEdit = useCanEdit();
  const { mark } = useDefinitionChanges(definition);
  return (
    <Loaded query={marks} rows={4}>
      {({ hidden, verified }) => (
        <>
          <Hinted hint={words.facts.verifiedHint}>
            <Switch
              label={words.facts.verified}
              showsLabel
              isOn={verified}
              disabled={!canEdit}
              onChange={(isOn) => mark.mutate({ verified: isOn, hidden: isOn ? false : hidden })}
            />
          </Hinted>
          <Hinted hint={words.facts.hiddenHint}>
            <Switch
              label={words.facts.hidden}
              showsLabel
              isOn={hidden}
              disabled={!canEdit}
              onChange={(isOn) => mark.mutate({ hidden: isOn, verified: isOn ? false : verified })}
            />
          </Hinted>
        </>
      )}
    </Loaded>
  );
}

function Hinted({ hint, children }: { hint: string; children: ReactNode }) {
  return (
    <div>
      {children}
      <p className="text-ink-3 text-sm">{hint}</p>
    </div>
  );
}
