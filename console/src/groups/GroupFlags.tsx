import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { FlagTable, flagsNowQuery } from "@/persons";
import { Loaded } from "@/ui/States";
import { words } from "@/words/groups";
import { type Group, groupTypesQuery } from "./queries";

/** Flags of this type of group: their answers depend on no person. */
export function GroupFlags({ group }: { group: Group }) {
  const projectId = useProjectId();
  const types = useQuery(groupTypesQuery(projectId));
  const type = types.data?.find((one) => one.group_type_index === group.group_type_index);
  const flags = useQuery({
    ...flagsNowQuery(
      projectId,
      group.group_key,
      type === undefined ? {} : { [type.group_type]: group.group_key },
    ),
    enabled: type !== undefined,
  });
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <p className="text-ink-2">{words.flagsHint}</p>
      <Loaded query={flags} rows={4}>
        {(found) => (
          <FlagTable
            projectId={projectId}
            flags={found.filter((flag) => flag.groupTypeIndex === group.group_type_index)}
            empty={words.flagsEmpty}
          />
        )}
      </Loaded>
    </div>
  );
}
