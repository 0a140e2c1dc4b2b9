import { ChartLine } from "lucide-react";
import { useProjectId } from "@/app/session";
import { LinkButton } from "@/ui/Button";
import { words } from "@/words/insights";
import type { QuestionSearch } from "./question/address";

interface Props {
  /** The question, in the format of the URL. */
  about: QuestionSearch;
  small?: boolean;
}

/** A link that opens a question about what a screen shows. */
export function AskLink({ about, small = false }: Props) {
  const projectId = useProjectId();
  return (
    <LinkButton
      to="/project/$projectId/insights/new"
      params={{ projectId }}
      search={about}
      icon={ChartLine}
      small={small}
    >
      {words.ask}
    </LinkButton>
  );
}
