import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Switch } from "@/ui/Field";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/settings";
import { ACCESS, type AccessLevel, defaultAccessQuery, setDefaultAccess } from "../queries";

const T = words.roles;

/** What members can do with flags if no role lets them do more. */
export function DefaultAccess({ isAdmin }: { isAdmin: boolean }) {
  const access = useQuery(defaultAccessQuery);
  const queries = useQueryClient();
  // Undo runs after the first setting was stored, so it has an id.
  const store = async (level: AccessLevel) => {
    const stored = await queries.fetchQuery({ ...defaultAccessQuery, staleTime: 0 });
    await setDefaultAccess(level, stored?.id);
    // Whatever is shown may depend on what its user can edit.
    await queries.invalidateQueries();
  };
  const change = useMutation({
    mutationFn: store,
    onSuccess: (_, level) =>
      toast({
        text: level === ACCESS.edit ? T.defaultOn : T.defaultOff,
        undo: () => store(level === ACCESS.edit ? ACCESS.view : ACCESS.edit),
      }),
    onError: toastError,
  });
  return (
    <Card title={T.defaultTitle} description={isAdmin ? undefined : words.onlyAdmins}>
      <Loaded query={access} rows={1}>
        {(stored) => (
          <>
            <Switch
              showsLabel
              label={T.defaultEdit}
              isOn={isOpenToAll(stored)}
              disabled={!isAdmin || change.isPending}
              onChange={(isOn) => change.mutate(isOn ? ACCESS.edit : ACCESS.view)}
            />
            <p className="mt-1 text-ink-3 text-sm">{T.defaultHint}</p>
          </>
        )}
      </Loaded>
    </Card>
  );
}

/** Return whether members edit all flags without a role. */
export const isOpenToAll = (stored: { access_level: number } | null): boolean =>
  stored === null || stored.access_level >= ACCESS.edit;
