import { useNavigate } from "@tanstack/react-router";
import { Waypoints } from "lucide-react";
import { useProjectId } from "@/app/session";
import type { PartType } from "@/insights/kinds/paths/within";
import { writeQuestion } from "@/insights/question/address";
import type { Question } from "@/insights/question/model";
import { IconButton } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";
import { words } from "@/words/insightsFunnels";
import type { Asked } from "../kind";

interface Props {
  asked: Asked;
  /** Zero-based. */
  place: number;
  name: string;
}

/** The paths that persons take before and after a step. */
export function StepPaths({ asked, place, name }: Props) {
  const projectId = useProjectId();
  const navigate = useNavigate();
  const open = (type: PartType, step: number) =>
    navigate({
      to: "/project/$projectId/insights/new",
      params: { projectId },
      search: writeQuestion(pathsOf(asked, type, step)),
    });
  const number = place + 1;
  return (
    <Menu align="start" trigger={<IconButton icon={Waypoints} label={words.pathsOf(name)} />}>
      <MenuItem onSelect={() => void open("funnel_path_before_step", number)}>
        {words.pathsBefore}
      </MenuItem>
      {place > 0 && (
        <MenuItem onSelect={() => void open("funnel_path_between_steps", number)}>
          {words.pathsBetween}
        </MenuItem>
      )}
      <MenuItem onSelect={() => void open("funnel_path_after_step", number)}>
        {words.pathsAfter}
      </MenuItem>
      {place > 0 && (
        <MenuItem onSelect={() => void open("funnel_path_after_step", -number)}>
          {words.pathsAfterDropping}
        </MenuItem>
      )}
    </Menu>
  );
}

/** Return the question of the paths in a part of a funnel. */
export function pathsOf({ question, answer }: Asked, type: PartType, step: number): Question {
  return {
    ...question,
    kind: "paths",
    series: [],
    filters: [],
    breakdowns: [],
    options: {
      paths: {
        funnelPathsFilter: { funnelPathType: type, funnelStep: step, funnelSource: answer.query },
      },
    },
  };
}
