import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { groupTypesQuery } from "@/groups";
import { words } from "@/words/experiments";
import type { Unit } from "@/words/format";
import type { Experiment } from "./queries";

/** The type of the groups that an experiment counts; null for people. */
export function groupTypeOf(experiment: Pick<Experiment, "parameters" | "feature_flag">) {
  const { parameters, feature_flag: flag } = experiment;
  const found =
    flag?.filters.aggregation_group_type_index ?? parameters?.aggregation_group_type_index;
  return typeof found === "number" ? found : null;
}

/** What is counted, in words: people, or groups by the name of their type. */
export function useUnit(groupType: number | null): Unit {
  const types = useQuery({ ...groupTypesQuery(useProjectId()), enabled: groupType !== null });
  if (groupType === null) return words.units.people;
  const known = types.data?.find((one) => one.group_type_index === groupType);
  const { groups } = words.units;
  return {
    one: known?.name_singular || groups.one,
    many: known?.name_plural || groups.many,
  };
}
