import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { LEVELS, preflightQuery } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { prefix } from "@/lib/prefix";
import { Badge } from "@/ui/Badge";
import { Code, Copyable } from "@/ui/Copy";
import { Switch } from "@/ui/Field";
import { Card, Facts } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/settings";
import { organizationQuery } from "../queries";
import { useOwnLevel } from "./levels";

const T = words.signIn;

export function SignInTab() {
  return (
    <div className="flex max-w-3xl flex-col gap-4">
      <SecondFactorCard />
      <ProviderCard />
    </div>
  );
}

function SecondFactorCard() {
  const queries = useQueryClient();
  const organization = useQuery(organizationQuery);
  const isAdmin = useOwnLevel() >= LEVELS.admin;
  const enforce = useMutation({
    mutationFn: (enforce_2fa: boolean) =>
      dataOf(
        api.PATCH("/api/organizations/{organization}/", {
          params: { path: { organization: "@current" } },
          body: { enforce_2fa },
        }),
      ),
    onSuccess: (changed) => {
      queries.setQueryData(organizationQuery.queryKey, changed);
      toast({ text: words.saved });
    },
    onError: toastError,
  });
  return (
    <Card title={words.account.tabs.factor} description={isAdmin ? undefined : words.onlyAdmins}>
      <Loaded query={organization} rows={1}>
        {(found) => (
          <>
            <Switch
              showsLabel
              label={T.enforce}
              isOn={found.enforce_2fa}
              disabled={!isAdmin || enforce.isPending}
              onChange={(isOn) => enforce.mutate(isOn)}
            />
            <p className="mt-1 text-ink-3 text-sm">{T.enforceHint}</p>
          </>
        )}
      </Loaded>
    </Card>
  );
}

function ProviderCard() {
  const preflight = useQuery(preflightQuery);
  return (
    <Card title={T.oidc}>
      <Loaded query={preflight}>
        {(found) => {
          const isOn = Object.keys(found.available_social_auth_providers).length > 0;
          return (
            <div className="flex flex-col gap-3">
              <p className="flex items-baseline gap-2">
                <span className="shrink-0">
                  <Badge tone={isOn ? "good" : "neutral"}>
                    {isOn ? words.factor.on : words.factor.off}
                  </Badge>
                </span>
                {isOn ? T.oidcOn : T.oidcOff}
              </p>
              {!isOn && <Code text={T.oidcEnv} what={T.settings} />}
              <Facts
                facts={[
                  [
                    T.redirect,
                    <Copyable
                      key="redirect"
                      text={`${location.origin}${prefix}/api/login/oidc/callback/`}
                      what={T.redirectName}
                    />,
                  ],
                  [T.passwords, found.password_sign_in ? T.passwordsOn : T.passwordsOff],
                ]}
              />
            </div>
          );
        }}
      </Loaded>
    </Card>
  );
}
