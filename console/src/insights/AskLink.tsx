import { ChartLine } from "lucide-react";
import { useProjectId } from "@/app/session";
import { LinkButton } from "@/ui/Button";
import { Tooltip } from "@/ui/Tooltip";
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

/** An icon that opens a question about one of several things on a screen. */
export function AskIconLink({ about, label }: Pick<Props, "about"> & { label: string }) {
  const projectId = useProjectId();
  return (
    <Tooltip text={label}>
      <LinkButton
        to="/project/$projectId/insights/new"
        params={{ projectId }}
        search={about}
        icon={ChartLine}
        look="quiet"
        aria-label={label}
        className="size-8 shrink-0 p-0!"
      />
    </Tooltip>
  );
}
