import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "@/lib/api";
import { Badge, Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { ErrorNote, Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { toast } from "@/ui/Toast";
import { words } from "@/words/settings";
import { secondFactorQuery } from "../queries";
import { SecretDialog } from "../SecretDialog";
import { SetUpDialog } from "./SetUpDialog";

export function SecondFactorTab() {
  const queries = useQueryClient();
  const status = useQuery(secondFactorQuery);
  const [isSettingUp, setSettingUp] = useState(false);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const refresh = () => queries.invalidateQueries({ queryKey: secondFactorQuery.queryKey });
  const renew = useMutation({
    mutationFn: () => dataOf(api.POST("/api/users/@me/two_factor_backup_codes/")),
    onSuccess: (made) => {
      setCodes(made.backup_codes);
      void refresh();
    },
  });
  const remove = useMutation({
    mutationFn: () => dataOf(api.POST("/api/users/@me/two_factor_disable/")),
    onSuccess: () => {
      toast({ text: words.factor.removed });
      void refresh();
    },
  });
  const confirmed = (made: readonly string[]) => {
    setSettingUp(false);
    setCodes(made);
    // Without a required factor nothing else could be read.
    void queries.invalidateQueries();
  };
  const error = renew.error ?? remove.error;
  return (
    <Card className="max-w-xl" title={words.account.tabs.factor} description={words.factor.intro}>
      <Loaded query={status}>
        {(found) => (
          <div className="flex flex-col items-start gap-4">
            {found.is_required && !found.is_enabled && (
              <Notice tone="warn">{words.factor.required}</Notice>
            )}
            <p className="flex flex-wrap items-center gap-2">
              <Badge tone={found.is_enabled ? "good" : "neutral"}>
                {found.is_enabled ? words.factor.on : words.factor.off}
              </Badge>
              {found.is_enabled && (
                <span>
                  {words.factor.since} <Time at={found.confirmed_at} /> ·{" "}
                  {words.factor.codesLeft(found.recovery_codes_left)}
                </span>
              )}
            </p>
            {error ? <ErrorNote error={error} /> : null}
            <div className="flex flex-wrap gap-2">
              <Button
                look={found.is_enabled ? "default" : "primary"}
                onClick={() => setSettingUp(true)}
              >
                {found.is_enabled ? words.factor.replace : words.factor.setUp}
              </Button>
              {found.is_enabled && (
                <>
                  <Button isBusy={renew.isPending} onClick={() => renew.mutate()}>
                    {words.factor.newCodes}
                  </Button>
                  <Button look="danger" isBusy={remove.isPending} onClick={() => remove.mutate()}>
                    {words.factor.remove}
                  </Button>
                </>
              )}
            </div>
          </div>
        )}
      </Loaded>
      {isSettingUp && <SetUpDialog onClose={() => setSettingUp(false)} onConfirmed={confirmed} />}
      <SecretDialog
        title={words.factor.codesTitle}
        description={words.factor.codesHint}
        secret={codes?.join("\n") ?? null}
        what={words.factor.codes}
        done={words.factor.done}
        onClose={() => setCodes(null)}
      />
    </Card>
  );
}
