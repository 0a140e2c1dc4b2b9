import { api, dataOf } from "@/lib/api";
import { Combobox, type OptionSource } from "@/ui/combobox";
import { emailOf } from "./queries";

const FOUND_MAX = 10;

/** Persons by a part of the name or the e-mail address, or a whole id. */
function personOptions(projectId: string, without: readonly string[]): OptionSource {
  return {
    key: ["persons", projectId, without],
    load: async (search, signal) => {
      const page = await dataOf(
        api.GET("/api/projects/{project_id}/persons/", {
          params: {
            path: { project_id: projectId },
            query: { limit: FOUND_MAX + without.length, ...(search && { search }) },
          },
          signal,
        }),
      );
      return page.results
        .filter((person) => !without.includes(person.id))
        .slice(0, FOUND_MAX)
        .map((person) => ({
          value: person.id,
          label: person.name || person.id,
          description:
            emailOf(person) === person.name ? (person.distinct_ids[0] ?? "") : emailOf(person),
        }));
    },
  };
}

interface Props {
  projectId: string;
  label: string;
  hideLabel?: boolean;
  hint?: string;
  placeholder?: string;
  /** Persons that are not offered. */
  without: readonly string[];
  disabled?: boolean;
  onPick: (personId: string) => void;
}

/** Finds a person; the field is empty again after each choice. */
export function PersonPicker(props: Props) {
  const { projectId, label, without, onPick, ...rest } = props;
  return (
    <Combobox
      {...rest}
      label={label}
      options={personOptions(projectId, without)}
      value={null}
      onChange={(id) => id !== null && onPick(id)}
    />
  );
}
