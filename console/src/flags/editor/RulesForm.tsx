import { Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { words } from "@/words/flagEditor";
import type { Rules } from "../model";
import type { Names } from "../sentence";
import { ConditionsCard } from "./ConditionsCard";
import type { Fields } from "./fields";
import type { OnProblem } from "./problems";
import { SettingsCard } from "./SettingsCard";
import type { Reach } from "./useReach";
import { VariantsCard } from "./VariantsCard";

interface RulesFormProps {
  rules: Rules | null;
  fields: Fields;
  reach: Reach;
  names: Names;
  /** The server's error about the current rules. */
  error: unknown;
  /** Null for a new flag. */
  savedKey: string | null;
  canEdit: boolean;
  showProblems: boolean;
  onRules: (rules: Rules) => void;
  onFields: (change: Partial<Omit<Fields, "filters">>) => void;
  onProblem: OnProblem;
  onJson: () => void;
}

/** The form of the rules: who gets the flag, what they get, and settings that few flags need. */
export function RulesForm(props: RulesFormProps) {
  const { rules, fields, error, canEdit } = props;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {rules === null ? (
        <Notice tone="warn">
          <p className="mb-2">{words.cannotTell}</p>
          <Button onClick={props.onJson}>{words.json}</Button>
        </Notice>
      ) : (
        <>
          <ConditionsCard
            rules={rules}
            onChange={props.onRules}
            reach={props.reach}
            names={props.names}
            error={error}
            canEdit={canEdit}
            showProblems={props.showProblems}
            onProblem={props.onProblem}
          />
          <VariantsCard
            rules={rules}
            onChange={props.onRules}
            error={error}
            savedKey={props.savedKey}
            canEdit={canEdit}
            onProblem={props.onProblem}
          />
        </>
      )}
      <SettingsCard
        fields={fields}
        savedKey={props.savedKey}
        isByGroup={rules !== null && rules.groupTypeIndex !== null}
        onChange={props.onFields}
        error={error}
        canEdit={canEdit}
      />
    </div>
  );
}
