import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { toast, toastError } from "@/ui/Toast";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/settings";
import { type Session, sessionsQuery } from "../queries";

const T = words.sessions;

const COLUMNS: readonly Column<Session>[] = [
  {
    id: "device",
    header: T.device,
    grow: true,
    fixed: true,
    wrap: true,
    text: (session) => deviceOf(session.user_agent),
    cell: (session) => (
      <span className="inline-flex flex-wrap items-center gap-x-2 gap-y-0.5">
        <bdi>{deviceOf(session.user_agent)}</bdi>
        {session.is_current && <Badge tone="good">{T.current}</Badge>}
      </span>
    ),
  },
  {
    id: "address",
    header: T.address,
    width: 150,
    text: (session) => session.address,
    cell: (session) => <bdi>{session.address}</bdi>,
  },
  {
    id: "method",
    header: T.method,
    width: 120,
    text: (session) => T.methods[session.method] ?? session.method,
    cell: (session) => T.methods[session.method] ?? session.method,
  },
  {
    id: "begun",
    header: T.begun,
    width: 140,
    sortable: true,
    text: (session) => new Date(session.created_at),
    cell: (session) => <Time at={session.created_at} />,
  },
  {
    id: "used",
    header: T.used,
    width: 140,
    sortable: true,
    text: (session) => new Date(session.last_used_at),
    cell: (session) => <Time at={session.last_used_at} />,
  },
  {
    id: "end",
    header: words.actions,
    width: 110,
    text: () => null,
    cell: (session) => (session.is_current ? null : <EndButton session={session} />),
  },
];

export function SessionsTab() {
  const sessions = useQuery(sessionsQuery);
  const end = useEnd(() => dataOf(api.DELETE("/api/sessions/")));
  return (
    <Card
      isFlush
      title={T.label}
      description={T.intro}
      actions={
        <Button isBusy={end.isPending} onClick={() => end.mutate()}>
          {T.endAll}
        </Button>
      }
    >
      <Loaded query={sessions}>
        {(rows) => (
          <DataTable
            name="sessions"
            label={T.label}
            columns={COLUMNS}
            rows={rows}
            rowId={(session) => session.id}
          />
        )}
      </Loaded>
    </Card>
  );
}

function EndButton({ session }: { session: Session }) {
  const end = useEnd(() =>
    dataOf(
      api.DELETE("/api/sessions/{session_id}/", { params: { path: { session_id: session.id } } }),
    ),
  );
  return (
    <Button small isBusy={end.isPending} onClick={() => end.mutate()}>
      {T.end}
    </Button>
  );
}

function useEnd(act: () => Promise<unknown>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: () => toast({ text: T.ended }),
    onError: toastError,
    onSettled: () => queries.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  });
}

const BROWSERS: readonly [RegExp, string][] = [
  [/Edg\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\//, "Firefox"],
  [/Chrome\//, "Chrome"],
  [/Safari\//, "Safari"],
  [/curl\//, "curl"],
];
const SYSTEMS: readonly [RegExp, string][] = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"],
];

/** "Firefox, Linux": what a user recognizes a browser by. Unknown ones are shown as they say. */
function deviceOf(userAgent: string): string {
  const browser = BROWSERS.find(([pattern]) => pattern.test(userAgent))?.[1];
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1];
  const known = [browser, system].filter(Boolean).join(", ");
  return known || userAgent || "–";
}
