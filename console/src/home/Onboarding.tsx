import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { preflightQuery, useProject, useProjectId } from "@/app/session";
import { captureUrl, SDKS, type Sdk, snippet } from "@/lib/snippets";
import { useFeed } from "@/live";
import { LinkButton } from "@/ui/Button";
import { Code, Copyable } from "@/ui/Copy";
import { Card, Facts, Page } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { Tabs } from "@/ui/Tabs";
import { words } from "@/words/home";
import { FirstEvent, Waiting } from "./FirstEvent";
import { Refused } from "./Refused";

interface OnboardingProps {
  sdk: Sdk;
  /** No event was ever stored when it was opened. */
  isFirst: boolean;
  onDone: () => void;
}

/** Instructions for sending events, and what happens to those that arrive. */
export function Onboarding({ sdk, isFirst, onDone }: OnboardingProps) {
  const projectId = useProjectId();
  // Its users send the event from another window, and then look here.
  const feed = useFeed({ evenHidden: true });
  const [newest] = feed.events;
  return (
    <Page
      title={isFirst ? words.onboarding.title : words.connect}
      description={words.onboarding.description}
      actions={
        !isFirst && (
          <LinkButton to="/project/$projectId" params={{ projectId }}>
            {words.onboarding.back}
          </LinkButton>
        )
      }
    >
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Snippets sdk={sdk} />
        <div className="flex min-w-0 flex-col gap-4">
          {newest === undefined ? (
            <Waiting isFirst={isFirst} connection={feed.connection} />
          ) : (
            <FirstEvent event={newest} onDone={onDone} />
          )}
          <Refused hasArrived={newest !== undefined} />
        </div>
      </div>
    </Page>
  );
}

function Snippets({ sdk }: { sdk: Sdk }) {
  const project = useProject();
  const preflight = useQuery(preflightQuery);
  const navigate = useNavigate({ from: "/project/$projectId/" });
  const select = (next: Sdk) =>
    void navigate({ search: (old) => ({ ...old, sdk: next }), replace: true });
  return (
    <Card>
      <Loaded query={preflight} rows={8}>
        {({ capture_url: given }) => {
          const url = captureUrl(given);
          const token = project?.api_token ?? "";
          return (
            <div className="flex flex-col gap-4">
              <Facts
                facts={[
                  [
                    words.onboarding.keyLabel,
                    <Copyable key="key" text={token} what={words.onboarding.key} />,
                  ],
                  [
                    words.onboarding.addressLabel,
                    <Copyable key="address" text={url} what={words.onboarding.address} />,
                  ],
                ]}
              />
              <Tabs
                label={words.onboarding.sdks}
                selected={sdk}
                onSelect={select}
                tabs={SDKS.map((id) => ({
                  id,
                  label: words.onboarding.sdk[id],
                  content: (
                    <div className="flex flex-col gap-2">
                      <p className="text-ink-2">{words.onboarding.hints[id]}</p>
                      <Code
                        text={snippet(id, token, url)}
                        what={words.onboarding.code}
                        label={words.onboarding.sdk[id]}
                      />
                    </div>
                  ),
                }))}
              />
            </div>
          );
        }}
      </Loaded>
    </Card>
  );
}
