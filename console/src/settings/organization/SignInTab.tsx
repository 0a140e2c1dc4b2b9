import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { LEVELS, organizationQuery, preflightQuery, useMe } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { prefix } from "@/lib/prefix";
import { Badge, Notice } from "@/ui/Badge";
import { Code, Copyable } from "@/ui/Copy";
import { FormDialog } from "@/ui/Dialog";
import { Switch } from "@/ui/Field";
import { Card, Facts, LINK } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/settings";
import { membersQuery } from "../queries";
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
  const members = useQuery(membersQuery);
  const me = useMe();
  const isAdmin = useOwnLevel() >= LEVELS.admin;
  const [isAsking, setAsking] = useState(false);
  const without = (members.data ?? []).filter((member) => !member.is_2fa_enabled);
  const isMissing = me.has_password && without.some((member) => member.user.uuid === me.uuid);
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
      setAsking(false);
      toast({ text: words.saved });
    },
    onError: (error) => isAsking || toastError(error),
  });
  return (
    <Card title={words.account.tabs.factor} description={isAdmin ? undefined : words.onlyAdmins}>
      <Loaded query={organization} isWaiting={members.isPending} rows={4}>
        {(found) => (
          <>
            <Switch
              showsLabel
              label={T.enforce}
              isOn={found.enforce_2fa}
              disabled={
                !isAdmin ||
                enforce.isPending ||
                members.data === undefined ||
                (isMissing && !found.enforce_2fa)
              }
              onChange={(isOn) => (isOn ? setAsking(true) : enforce.mutate(false))}
            />
            <p className="mt-1 text-ink-3 text-sm">{T.enforceHint}</p>
            {members.data && (
              <p className="mt-2">{T.without(without.length, members.data.length)}</p>
            )}
            {isAdmin && isMissing && !found.enforce_2fa && (
              <Notice tone="warn" className="mt-2">
                {T.ownMissing}{" "}
                <Link to="/account" search={{ tab: "factor" }} className={LINK}>
                  {words.factor.setUp}
                </Link>
              </Notice>
            )}
          </>
        )}
      </Loaded>
      <FormDialog
        isOpen={isAsking}
        isDanger
        onClose={() => setAsking(false)}
        title={T.enforceTitle}
        description={T.enforceAsk(without.length)}
        submit={T.enforceDo}
        onSubmit={() => enforce.mutate(true)}
        isBusy={enforce.isPending}
        error={enforce.error}
      >
        {without.length > 0 && (
          <ul>
            {without.map(({ user }) => (
              <li key={user.uuid}>
                <bdi>{user.first_name}</bdi> (<bdi>{user.email}</bdi>)
              </li>
            ))}
          </ul>
        )}
      </FormDialog>
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
