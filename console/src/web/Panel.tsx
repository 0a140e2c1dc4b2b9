import { useQuery } from "@tanstack/react-query";
import { Tabs as Radix } from "radix-ui";
import { useProjectId } from "@/app/session";
import { classes } from "@/ui/classes";
import { Select } from "@/ui/Select";
import { words } from "@/words/web";
import {
  type Breakdown,
  breakdownsOf,
  CAMPAIGNS,
  type Campaign,
  isCampaign,
  PANELS,
  type PanelName,
} from "./breakdowns";
import { PanelFooter } from "./PanelFooter";
import { rowsOf, tableOf, webQuery } from "./queries";
import { TableState } from "./TableState";
import { useInSight } from "./useInSight";
import { ValueTable } from "./ValueTable";
import type { View } from "./view";

type TabId = Exclude<Breakdown, Campaign> | "campaigns";

export const ROWS = 10;

interface PanelProps {
  name: PanelName;
  view: View;
  /** Whether the figures above are known. */
  isReady: boolean;
}

/** The tables on one subject, one per tab. */
export function Panel({ name, view, isReady }: PanelProps) {
  const [box, isSeen] = useInSight<HTMLElement>(isReady);
  const [first = "Page"] = breakdownsOf(name);
  const shown = view.search[name] ?? first;
  const tabs: readonly TabId[] = PANELS[name];
  const selected: TabId = isCampaign(shown) ? "campaigns" : shown;
  const show = (by: Breakdown) => view.change({ [name]: by === first ? undefined : by }, true);
  const select = (id: string) => {
    const tab = tabs.find((one) => one === id);
    if (tab !== undefined) show(tab === "campaigns" ? CAMPAIGNS[0] : tab);
  };
  return (
    <section
      ref={box}
      aria-label={words.panels[name]}
      className="flex min-w-0 flex-col rounded-lg border border-line bg-panel"
    >
      <Radix.Root value={selected} onValueChange={select} className="flex min-w-0 flex-1 flex-col">
        <div className="flex flex-wrap items-baseline justify-between gap-x-4 px-4 pt-3">
          <h2 className="font-semibold">{words.panels[name]}</h2>
          <Radix.List
            aria-label={words.panels[name]}
            className="-mx-1 flex min-w-0 gap-1.5 overflow-x-auto"
          >
            {tabs.map((tab) => (
              <Radix.Trigger
                key={tab}
                value={tab}
                className="whitespace-nowrap border-transparent border-b-2 px-1 py-1 text-ink-2 text-sm hover:text-ink data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-accent-text"
              >
                {words.tabs[tab]}
              </Radix.Trigger>
            ))}
          </Radix.List>
        </div>
        <Radix.Content
          value={selected}
          tabIndex={-1}
          className="flex min-w-0 flex-1 flex-col px-4 pt-2 pb-3 outline-none"
        >
          <Table key={shown} by={shown} view={view} isSeen={isSeen} onCampaign={show} />
        </Radix.Content>
      </Radix.Root>
    </section>
  );
}

interface TableProps {
  by: Breakdown;
  view: View;
  isSeen: boolean;
  onCampaign: (by: Breakdown) => void;
}

function Table({ by, view, isSeen, onCampaign }: TableProps) {
  const question = tableOf(view.common, {
    breakdown: by,
    cleansPaths: view.rules.length > 0,
    limit: ROWS,
  });
  const table = useQuery({ ...webQuery(useProjectId(), question), enabled: isSeen });
  const rows = rowsOf(table.data ?? { results: [], columns: [] });
  return (
    <>
      {isCampaign(by) && (
        <div className="mb-1">
          <Select
            aria-label={words.campaign}
            value={by}
            options={CAMPAIGNS.map((value) => ({ value, label: words.titles[value] }))}
            onChange={onCampaign}
            className="w-auto!"
          />
        </div>
      )}
      {/* Keeps a similar height when switching tabs. */}
      <div className={classes("flex-1", table.data === undefined ? "min-h-60" : "lg:min-h-52")}>
        <TableState query={table} rows={rows} by={by} isFiltered={view.where.length > 0}>
          <ValueTable
            by={by}
            view={view}
            rows={rows}
            columns={table.data?.columns.slice(1) ?? []}
            isBusy={table.isPlaceholderData}
          />
        </TableState>
      </div>
      {table.data !== undefined && rows.length > 0 && (
        <PanelFooter by={by} view={view} at={table.data.at} />
      )}
    </>
  );
}
