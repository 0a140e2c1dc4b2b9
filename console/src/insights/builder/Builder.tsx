import { Shapes } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProject } from "@/app/session";
import { isComplete, type PropertyFilter, PropertyFilterList } from "@/filters";
import type { FieldsProps, Kind } from "@/insights/kinds/kind";
import { USUAL_LIMIT } from "@/insights/question/model";
import type { Names } from "@/insights/question/sentence";
import { SaveAsSegment, type SaveAsSegmentProps } from "@/segments";
import { Button } from "@/ui/Button";
import { Switch } from "@/ui/Field";
import { words } from "@/words/insightsBuilder";
import { BreakdownList } from "./BreakdownList";
import { SeriesList } from "./SeriesList";
import { CONDITION_KINDS } from "./SeriesRow";

interface Props extends FieldsProps {
  kind: Kind;
  names: Names;
}

/** The left side: the question. */
export function Builder({ kind, names, ...fields }: Props) {
  const { question, onChange, errorAt } = fields;
  const uses = kind.uses(question);
  return (
    <div className="flex min-w-0 flex-col gap-5">
      {uses.series.most > 0 && <SeriesList {...fields} uses={uses.series} />}
      {kind.Fields && <kind.Fields {...fields} />}
      <fieldset className="flex min-w-0 flex-col gap-2">
        <legend className="mb-1 font-medium">{words.filters}</legend>
        <PropertyFilterList
          label={words.filters}
          filters={question.filters}
          onChange={(filters) => onChange({ ...question, filters })}
          use="query"
          allowed={CONDITION_KINDS}
        />
        {errorAt("properties") && <p className="text-bad text-sm">{errorAt("properties")}</p>}
        <SaveSegment
          filters={question.filters}
          onSaved={(filter) => onChange({ ...question, filters: [filter] })}
        />
        <TestsSwitch
          isOn={question.withoutTests}
          onChange={(withoutTests) => onChange({ ...question, withoutTests })}
        />
      </fieldset>
      {uses.breakdowns > 0 && (
        <BreakdownList
          {...fields}
          names={names}
          most={uses.breakdowns}
          usualLimit={uses.usualLimit ?? USUAL_LIMIT}
          hasRanges={uses.hasRanges ?? true}
        />
      )}
    </div>
  );
}

/** Offers to save the conditions of the question as a segment, which takes their place. */
function SaveSegment({ filters, onSaved }: Omit<SaveAsSegmentProps, "onClose">) {
  const canEdit = useCanEdit();
  const [isOpen, setOpen] = useState(false);
  const canSave = filters.length > 0 && filters.every((one) => isOwn(one) && isComplete(one));
  if (!canEdit || !canSave) return null;
  return (
    <div>
      <Button small look="quiet" icon={Shapes} onClick={() => setOpen(true)}>
        {words.saveSegment}
      </Button>
      {isOpen && (
        <SaveAsSegment filters={filters} onSaved={onSaved} onClose={() => setOpen(false)} />
      )}
    </div>
  );
}

/** Segments contain no segments. */
const isOwn = ({ type }: PropertyFilter): boolean => type !== "segment";

function TestsSwitch(props: { isOn: boolean; onChange: (isOn: boolean) => void }) {
  const project = useProject();
  const hasNone = project !== undefined && project.test_account_filters.length === 0;
  return (
    <div className="flex flex-col gap-1">
      <Switch label={words.withoutTests} showsLabel isOn={props.isOn} onChange={props.onChange} />
      {hasNone && <p className="text-ink-3 text-sm">{words.noTests}</p>}
    </div>
  );
}
