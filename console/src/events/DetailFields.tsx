import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useCanEdit } from "@/app/session";
import type { components } from "@/lib/schema";
import { Button } from "@/ui/Button";
import { Combobox } from "@/ui/combobox";
import { Switch, TextAreaField } from "@/ui/Field";
import { words } from "@/words/events";
import { ownersQuery } from "./queries";

const DESCRIPTION_CHARS_MAX = 1000;

type Details = Pick<
  components["schemas"]["PropertyDefinitionBody"],
  "description" | "owner" | "tags" | "hidden" | "verified"
>;

export interface DetailChanges {
  description?: string;
  owner?: number | null;
  tags?: string[];
  hidden?: boolean;
  verified?: boolean;
}

interface Props {
  details: Details;
  isBusy: boolean;
  onChange: (changes: DetailChanges) => void;
}

/** What users say about an event or a property. */
export function DetailFields({ details, isBusy, onChange }: Props) {
  const canEdit = useCanEdit();
  return (
    <>
      <Description
        key={details.description}
        text={details.description}
        isBusy={isBusy}
        onSave={(description) => onChange({ description })}
      />
      <Owner details={details} onChange={onChange} />
      <Combobox
        multiple
        label={words.facts.tags}
        options={[]}
        freeEntry
        value={details.tags}
        onChange={(tags) => onChange({ tags })}
        placeholder={canEdit ? words.facts.addTag : words.facts.noTags}
        disabled={!canEdit}
      />
      <Hinted hint={words.facts.verifiedHint}>
        <Switch
          label={words.facts.verified}
          showsLabel
          isOn={details.verified}
          disabled={!canEdit}
          onChange={(verified) => onChange({ verified })}
        />
      </Hinted>
      <Hinted hint={words.facts.hiddenHint}>
        <Switch
          label={words.facts.hidden}
          showsLabel
          isOn={details.hidden}
          disabled={!canEdit}
          onChange={(hidden) => onChange({ hidden })}
        />
      </Hinted>
    </>
  );
}

interface DescriptionProps {
  text: string;
  isBusy: boolean;
  onSave: (text: string) => void;
}

function Description({ text, isBusy, onSave }: DescriptionProps) {
  const canEdit = useCanEdit();
  const [draft, setDraft] = useState(text);
  const isChanged = draft.trim() !== text;
  return (
    <div className="flex flex-col items-start gap-2">
      <div className="w-full">
        <TextAreaField
          label={words.facts.description}
          rows={2}
          maxLength={DESCRIPTION_CHARS_MAX}
          value={draft}
          disabled={!canEdit}
          onChange={({ target }) => setDraft(target.value)}
        />
      </div>
      {isChanged && (
        <Button small isBusy={isBusy} onClick={() => onSave(draft.trim())}>
          {words.facts.saveDescription}
        </Button>
      )}
    </div>
  );
}

function Owner({ details: { owner }, onChange }: Pick<Props, "details" | "onChange">) {
  const canEdit = useCanEdit();
  const members = useQuery(ownersQuery).data ?? [];
  return (
    <Combobox
      label={words.facts.owner}
      options={members}
      value={owner === null ? null : String(owner.id)}
      // An owner who has left is no member any more.
      labelOf={(id) => (id === String(owner?.id) ? (owner?.first_name ?? id) : undefined)}
      onChange={(id) => onChange({ owner: id === null ? null : Number(id) })}
      placeholder={words.facts.noOwner}
      clearable
      disabled={!canEdit}
    />
  );
}

export function Hinted({ hint, children }: { hint: string; children: ReactNode }) {
  return (
    <div>
      {children}
      <p className="text-ink-3 text-sm">{hint}</p>
    </div>
  );
}
