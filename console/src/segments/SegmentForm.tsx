import { useCanEdit } from "@/app/session";
import { type FilterKind, PropertyFilterList } from "@/filters";
import { NamedItemForm, type NamedItemFormProps } from "@/namedItems";
import { Select } from "@/ui/Select";
import { words } from "@/words/segments";
import { isCompleteDraft, KINDS, type SegmentDraft } from "./draft";

const CONDITIONS: readonly FilterKind[] = [
  ...(["event", "person", "group", "session"] as const),
  ...(["element", "cohort", "hogql"] as const),
];
type Props = NamedItemFormProps<SegmentDraft>;

/** The fields of a segment. */
export function SegmentForm(props: Props) {
  return (
    <NamedItemForm {...props} words={words} isComplete={isCompleteDraft(props.draft)}>
      <Conditions draft={props.draft} onChange={props.onChange} />
    </NamedItemForm>
  );
}

function Conditions({ draft, onChange }: Pick<Props, "draft" | "onChange">) {
  const canEdit = useCanEdit();
  if (draft.nested !== undefined) return <p className="text-ink-2">{words.nested}</p>;
  return (
    <section className="flex min-w-0 flex-col gap-3" aria-label={words.conditions}>
      <h2 className="font-medium">{words.conditions}</h2>
      <div>
        <Select
          isSnug
          className="w-auto!"
          aria-label={words.match}
          value={draft.kind}
          options={KINDS.map((value) => ({ value, label: words.kinds[value] }))}
          disabled={!canEdit}
          onChange={(kind) => onChange({ ...draft, kind })}
        />
      </div>
      <PropertyFilterList
        label={words.conditions}
        filters={draft.filters}
        onChange={(filters) => onChange({ ...draft, filters })}
        use="query"
        allowed={CONDITIONS}
        disabled={!canEdit}
        {...(draft.kind === "OR" && { joint: words.or })}
      />
    </section>
  );
}
