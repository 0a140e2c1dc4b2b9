import { useQuery } from "@tanstack/react-query";
import { Braces, Ellipsis, FlaskConical, Trash2, UsersRound } from "lucide-react";
import { Badge, Notice } from "@/ui/Badge";
import { Button, IconButton } from "@/ui/Button";
import { CopyButton } from "@/ui/Copy";
import { Switch } from "@/ui/Field";
import { Menu, MenuItem } from "@/ui/Menu";
import { words } from "@/words/flagEditor";
import { type Flag, readRules, variantsOf } from "../model";
import { flagKeys, reachQuery } from "../queries";
import { Sentence } from "../Sentence";
import { flagParts, type Names } from "../sentence";
import { DescriptionField } from "./DescriptionField";
import { TagList } from "./TagList";
import { useHeadChange } from "./useHeadChange";

interface FlagHeadProps {
  projectId: string;
  flag: Flag;
  names: Names;
  canEdit: boolean;
}

/** The saved flag: its key, its switch, its sentence. Changes here are saved immediately. */
export function FlagHead({ projectId, flag, names, canEdit }: FlagHeadProps) {
  const head = useHeadChange(projectId, flag);
  const rules = readRules(flag.filters);
  const change = (part: Parameters<typeof head.mutate>[0]["change"], said: string) =>
    head.mutate({ change: part, said });
  const turn = (isOn: boolean) =>
    change({ active: isOn }, isOn ? words.switchedOn(flag.key) : words.switchedOff(flag.key));
  return (
    <div className="flex flex-col gap-2">
      {flag.deleted && (
        <Notice tone="bad">
          <span className="mr-3">{words.deleted}</span>
          {canEdit && (
            <Button small onClick={() => change({ deleted: false }, words.restored(flag.key))}>
              {words.restore}
            </Button>
          )}
        </Notice>
      )}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Switch
          label={words.switchOf(flag.key)}
          isOn={flag.active}
          disabled={!canEdit || flag.deleted}
          onChange={turn}
        />
        <strong>{flag.active ? words.isOn : words.isOff}</strong>
        <Concerned projectId={projectId} flag={flag} />
        <Badge>{words.version(flag.version)}</Badge>
        <TagList
          tags={flag.tags}
          canEdit={canEdit}
          onChange={(tags) => change({ tags }, words.tagsChanged)}
        />
      </div>
      <p className="text-lg">
        {!flag.active && <span className="text-ink-2">{words.whenOn}</span>}
        {rules === null ? words.cannotTell : <Sentence parts={flagParts(rules, flag, names)} />}
      </p>
      <DescriptionField
        text={flag.name}
        canEdit={canEdit}
        onChange={(name) => change({ name }, words.descriptionChanged)}
      />
    </div>
  );
}

/** On phones the count has its own line, reserved so that the layout does not shift when it arrives. */
const LINE = "max-sm:min-h-6 max-sm:basis-full";

/** The number of people whose value changes with the switch. */
function Concerned({ projectId, flag }: { projectId: string; flag: Flag }) {
  const { data, isFetching } = useQuery({
    ...reachQuery(projectId, { id: flag.id }),
    queryKey: flagKeys.reach(projectId, `${flag.id} at ${flag.version}`),
    retry: false,
    enabled: !flag.deleted,
  });
  if (data === undefined) return <span aria-busy={isFetching} className={LINE} />;
  const counts = data.conditions.map((one) => one.rolled_out);
  if (counts.some((one) => one === null) || data.total_persons === 0) {
    return <span className={LINE} />;
  }
  const count = counts.reduce<number>((sum, one) => sum + (one ?? 0), 0) + data.super_groups;
  const isGroup = data.group_type_index !== null;
  const text = flag.active
    ? words.onFor(count, data.exact, isGroup)
    : words.offInsteadOf(count, data.exact, isGroup);
  return <span className={`text-ink-2 ${LINE}`}>{text}</span>;
}

interface HeadActionsProps {
  flag: Flag;
  canEdit: boolean;
  onExperiment: () => void;
  onJson: () => void;
  onCohort: () => void;
  onRemove: () => void;
}

export function HeadActions(props: HeadActionsProps) {
  const { flag, canEdit, onExperiment, onJson, onCohort, onRemove } = props;
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={words.more} look="default" />}>
      <MenuItem
        icon={FlaskConical}
        disabled={!canEdit || flag.deleted || !canExperiment(flag)}
        onSelect={onExperiment}
      >
        {words.experiment}
      </MenuItem>
      <MenuItem icon={Braces} onSelect={onJson}>
        {words.json}
      </MenuItem>
      <MenuItem
        icon={UsersRound}
        disabled={!canEdit || !flag.active || flag.deleted || isForGroups(flag)}
        onSelect={onCohort}
      >
        {words.saveCohort}
      </MenuItem>
      <MenuItem icon={Trash2} isDanger disabled={!canEdit || flag.deleted} onSelect={onRemove}>
        {words.remove}
      </MenuItem>
    </Menu>
  );
}

/** Experiments compare variants with the one named `control`. */
const canExperiment = (flag: Flag): boolean => {
  const keys = variantsOf(flag).map(({ name }) => name);
  return keys.length > 1 && keys.includes("control");
};

const isForGroups = (flag: Flag): boolean => readRules(flag.filters)?.groupTypeIndex != null;

export function KeyHeading({ flagKey }: { flagKey: string }) {
  return (
    <span className="inline-flex min-w-0 max-w-full items-center gap-1">
      <bdi className="min-w-0 font-mono">{flagKey}</bdi>
      <CopyButton text={flagKey} what={words.keyWhat} />
    </span>
  );
}
