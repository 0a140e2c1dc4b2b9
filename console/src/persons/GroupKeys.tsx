import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { groupTypesQuery } from "@/groups";
import { api, dataOf } from "@/lib/api";
import { Combobox, type OptionSource } from "@/ui/combobox";
import { words } from "@/words/persons";

const FOUND_MAX = 20;

interface Props {
  /** Keys of groups by the name of their type. */
  groups: Record<string, string>;
  onChange: (groups: Record<string, string>) => void;
}

/** The groups that a person acts for, one of each type. Nothing where a project has no types. */
export function GroupKeys({ groups, onChange }: Props) {
  const projectId = useProjectId();
  const types = useQuery(groupTypesQuery(projectId)).data ?? [];
  const choose = (type: string, key: string | null) => {
    const { [type]: _, ...others } = groups;
    onChange(key ? { ...others, [type]: key } : others);
  };
  return types.map(({ group_type: type, group_type_index: index }) => (
    <div key={type} className="w-52 max-w-full">
      <Combobox
        label={words.flags.groupKey(type)}
        options={groupOptions(projectId, index)}
        value={groups[type] ?? null}
        onChange={(key) => choose(type, key)}
        placeholder={words.flags.groupPlaceholder}
        freeEntry
        clearable
      />
    </div>
  ));
}

function groupOptions(projectId: string, typeIndex: number): OptionSource {
  return {
    key: ["groups", projectId, typeIndex],
    load: async (search, signal) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/groups/", {
          params: {
            path: { project_id: projectId },
            query: {
              group_type_index: String(typeIndex),
              limit: FOUND_MAX,
              ...(search && { search }),
            },
          },
          signal,
        }),
      );
      return page.results.map((group) => ({ value: group.group_key }));
    },
  };
}
