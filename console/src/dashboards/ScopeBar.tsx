import { getRouteApi } from "@tanstack/react-router";
import { CalendarDays, ListFilter, X } from "lucide-react";
import { useState } from "react";
import { useProject } from "@/app/session";
import { type FilterKind, isComplete, type PropertyFilter, PropertyFilterList } from "@/filters";
import { Button, IconButton } from "@/ui/Button";
import { DateRangeField } from "@/ui/DateRange";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/dashboards";
import { type Dashboard, useDashboardChange } from "./queries";
import { filtersOfScope, type Scope, writeScope } from "./scope";

const route = getRouteApi("/signed-in/project/$projectId/dashboards/$dashboardId");

const PRESETS = [
  ...(["dStart", "-1dStart -1dEnd", "-24h", "-7d", "-30d", "-90d", "mStart"] as const),
  ...(["-1mStart -1mEnd", "-12m", ""] as const),
];
const KINDS: readonly FilterKind[] = [
  ...(["event", "person", "group", "session", "element"] as const),
  ...(["cohort", "segment"] as const),
];
const USUAL = { from: "-30d" };

interface Props {
  dashboard: Dashboard;
  kept: Scope;
  scope: Scope;
  canEdit: boolean;
}

/** One period and filter for all tiles, changed only for this user (in the URL) or saved for
 * everyone. */
export function ScopeBar({ dashboard, kept, scope, canEdit }: Props) {
  const navigate = route.useNavigate();
  const project = useProject();
  const own = writeScope(kept, scope);
  const change = (next: Scope) =>
    void navigate({
      search: ({ from: _, to: __, own: ___, properties: ____, ...others }) => ({
        ...others,
        ...writeScope(kept, next),
      }),
      replace: true,
      resetScroll: false,
    });
  return (
    <section aria-label={words.scope} className="flex min-w-0 flex-col gap-2">
      <div className="flex min-w-0 flex-wrap items-start gap-2">
        {scope.dates === undefined ? (
          <Button icon={CalendarDays} onClick={() => change({ ...scope, dates: USUAL })}>
            {words.setPeriod}
          </Button>
        ) : (
          <span className="flex min-w-0 items-center gap-1">
            <DateRangeField
              value={{ range: scope.dates, isCompared: false, isUnknown: false }}
              zone={project?.timezone ?? "UTC"}
              presets={PRESETS}
              onChange={({ from, to }) =>
                change({
                  ...scope,
                  dates: { ...(from !== undefined && { from }), ...(to !== undefined && { to }) },
                })
              }
            />
            <IconButton
              icon={X}
              label={words.dropPeriod}
              onClick={() => change({ ...scope, dates: undefined })}
            />
          </span>
        )}
        <Filters scope={scope} onChange={change} />
      </div>
      {Object.keys(own).length > 0 && (
        <OwnBar
          dashboard={dashboard}
          kept={kept}
          scope={scope}
          canEdit={canEdit}
          onChange={change}
        />
      )}
    </section>
  );
}

function Filters({ scope, onChange }: { scope: Scope; onChange: (scope: Scope) => void }) {
  // A condition applies to the tiles only once it is complete.
  const [typed, setTyped] = useState<readonly PropertyFilter[] | null>(null);
  const shown = typed ?? scope.filters;
  const change = (next: readonly PropertyFilter[]) => {
    const isReady = next.every(isComplete);
    setTyped(isReady ? null : next);
    if (isReady) onChange({ ...scope, filters: next });
  };
  const isEmpty = shown.length === 0;
  return (
    <div className="flex min-w-0 items-start gap-2">
      {!isEmpty && <ListFilter aria-hidden className="mt-2 size-4 shrink-0 text-ink-3" />}
      <PropertyFilterList
        label={words.filters}
        filters={shown}
        onChange={change}
        use="query"
        allowed={KINDS}
        addLabel={words.addFilter}
      />
    </div>
  );
}

interface OwnProps extends Props {
  onChange: (scope: Scope) => void;
}

/** Shows that the scope is only in the URL, with buttons to save it for everyone or reset it. */
function OwnBar({ dashboard, kept, scope, canEdit, onChange }: OwnProps) {
  const saving = useDashboardChange(dashboard.id);
  const navigate = route.useNavigate();
  const keep = async () => {
    try {
      await saving.mutateAsync({ filters: filtersOfScope(scope) });
    } catch (error) {
      toastError(error);
      return;
    }
    const before = dashboard.filters;
    toast({ text: words.kept, undo: () => saving.mutateAsync({ filters: before }) });
    await navigate({
      search: ({ from: _, to: __, own: ___, properties: ____, ...others }) => others,
      replace: true,
      resetScroll: false,
    });
  };
  return (
    <div className="flex flex-wrap items-center gap-2 text-ink-2 text-sm">
      <span role="status">{words.onlyYou}</span>
      <Button small onClick={() => onChange(kept)}>
        {words.reset}
      </Button>
      <Button
        small
        look="primary"
        disabled={!canEdit}
        title={canEdit ? undefined : words.noRight}
        isBusy={saving.isPending}
        onClick={() => void keep()}
      >
        {words.keep}
      </Button>
    </div>
  );
}
