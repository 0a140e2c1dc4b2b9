import { Link } from "@tanstack/react-router";
import { type RefObject, useMemo, useState } from "react";
import { TextField } from "@/ui/Field";
import { Card, LINK } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { words } from "@/words/flagEditor";
import type { Rules } from "../model";
import type { UnsavedFlag } from "../queries";
import type { Names } from "../sentence";
import { ExplainedAnswer } from "./ExplainedAnswer";
import { type Pretended, PretendList, pretendedValues } from "./PretendList";
import { type Answers, type Asked, useAnswers } from "./useAnswers";

interface TryItProps {
  projectId: string;
  /** From the URL, so that a link to an answer shows the same. */
  who: string;
  onWho: (who: string) => void;
  /** null while something of it is missing. */
  unsaved: UnsavedFlag | null;
  isDirty: boolean;
  rules: Rules | null;
  savedRules: Rules | null;
  names: Names;
  isByDevice: boolean;
  inputRef: RefObject<HTMLInputElement | null>;
}

/** What one person gets and why, from the saved flag and, beside it, the unsaved one. */
export function TryIt(props: TryItProps) {
  const { projectId, who, onWho, unsaved, names, isByDevice, inputRef } = props;
  const index = props.rules?.groupTypeIndex ?? null;
  const groupType = index === null ? undefined : names.groupTypes?.get(index);
  const [pretended, setPretended] = useState<readonly Pretended[]>([]);
  const [groupKey, setGroupKey] = useState("");
  const [deviceId, setDeviceId] = useState("");
  const asked = useMemo((): Asked => {
    const values = pretendedValues(pretended);
    const hasAny = Object.keys(values).length > 0;
    return {
      who,
      personProperties: groupType === undefined ? values : {},
      groups: groupType === undefined ? {} : { [groupType]: groupKey },
      groupProperties: groupType !== undefined && hasAny ? { [groupType]: values } : {},
      deviceId: isByDevice ? deviceId : "",
    };
  }, [who, pretended, groupType, groupKey, deviceId, isByDevice]);
  const answers = useAnswers(projectId, asked, unsaved);
  return (
    <Card title={words.tryIt} description={words.tryHint}>
      <div className="flex flex-col gap-3">
        <TextField
          ref={inputRef}
          label={words.who}
          value={who}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onWho(event.target.value)}
        />
        {groupType !== undefined && (
          <TextField
            label={words.groupKey(groupType)}
            value={groupKey}
            onChange={(event) => setGroupKey(event.target.value)}
          />
        )}
        {isByDevice && (
          <TextField
            label={words.deviceId}
            value={deviceId}
            onChange={(event) => setDeviceId(event.target.value)}
          />
        )}
        <PretendList pretended={pretended} onChange={setPretended} groupTypeIndex={index} />
        <Answer {...props} answers={answers} />
      </div>
    </Card>
  );
}

function Answer(props: TryItProps & { answers: Answers }) {
  const { answers, projectId, isDirty, names, rules, savedRules } = props;
  const { subject, reasons, error, isAsking } = answers;
  if (subject === undefined && !isAsking && !error) return null;
  const saved = reasons?.saved ?? null;
  const unsaved = reasons?.unsaved ?? null;
  return (
    <div aria-busy={isAsking} aria-live="polite" className="flex flex-col gap-3">
      {subject !== undefined && <Who subject={subject} projectId={projectId} />}
      {error && !isAsking ? <ErrorNote error={error} /> : null}
      {reasons !== undefined && (
        <div className="flex flex-col gap-3">
          {isDirty && saved !== null && unsaved !== null && (
            <p className="text-ink-2 text-sm">
              {saved.value === unsaved.value ? words.isSameAnswer : words.isOtherAnswer}
            </p>
          )}
          <div className="flex flex-col gap-3">
            {saved !== null && (
              <ExplainedAnswer
                title={words.saved}
                explained={saved}
                names={names}
                rules={savedRules}
              />
            )}
            {unsaved !== null && (isDirty || saved === null) && (
              <ExplainedAnswer
                title={words.unsaved}
                explained={unsaved}
                names={names}
                rules={rules}
              />
            )}
          </div>
        </div>
      )}
    </div>
  );
}

function Who({
  subject,
  projectId,
}: {
  subject: NonNullable<Answers["subject"]>;
  projectId: string;
}) {
  if (subject.isAmbiguous) return <p className="text-sm text-warn">{words.severalPersons}</p>;
  if (subject.person === null) return <p className="text-ink-2 text-sm">{words.unknownPerson}</p>;
  return (
    <p className="text-sm">
      <Link
        to="/project/$projectId/persons/$personId"
        params={{ projectId, personId: subject.person.id }}
        className={LINK}
      >
        <bdi>{subject.person.name.slice(0, 80)}</bdi>
      </Link>
      {subject.distinctId !== subject.person.name && (
        <>
          {" "}
          {words.asId} <bdi className="font-mono">{subject.distinctId.slice(0, 80)}</bdi>
        </>
      )}
    </p>
  );
}
