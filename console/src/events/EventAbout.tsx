import { useCanEdit } from "@/app/session";
import { Switch } from "@/ui/Field";
import { Card, Facts } from "@/ui/Page";
import { Time } from "@/ui/Time";
import { words } from "@/words/events";
import { DetailFields, Hinted } from "./DetailFields";
import type { Definition } from "./queries";
import { useDefinitionChanges } from "./useDefinitionChanges";

/** A card of what users note about an event, and whether webhooks are notified. */
export function EventAbout({ definition }: { definition: Definition }) {
  const canEdit = useCanEdit();
  const change = useDefinitionChanges(definition);
  return (
    <Card title={words.facts.title}>
      <div className="flex flex-col gap-4">
        <Facts
          facts={[
            [words.facts.seen, <Time key="seen" at={definition.last_seen_at} />],
            [words.facts.created, <Time key="created" at={definition.created_at} />],
          ]}
        />
        <DetailFields details={definition} isBusy={change.isPending} onChange={change.mutate} />
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
