import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useIsAdmin, useProjectId } from "@/app/session";
import { webhooksQuery } from "@/settings";
import { LINK } from "@/ui/Page";
import { words } from "@/words/alerts";

/** The webhooks that alerts are sent to, which only administrators may see. */
export function Webhooks() {
  return useIsAdmin() ? (
    <Subscribed />
  ) : (
    <p className="text-ink-2 text-sm">{words.webhooksOfAdmins}</p>
  );
}

const EVENT = "insight.alert";

function Subscribed() {
  const projectId = useProjectId();
  const webhooks = useQuery(webhooksQuery(projectId)).data;
  const told = webhooks?.filter(({ active, events }) => active && events.includes(EVENT));
  return (
    <p className="text-ink-2 text-sm">
      {told !== undefined && words.webhooks(told.length)}{" "}
      <Link
        to="/project/$projectId/settings"
        params={{ projectId }}
        search={{ tab: "webhooks" }}
        className={LINK}
      >
        {words.toWebhooks}
      </Link>
    </p>
  );
}
