/** The breakdowns of the tables, by API names; ExternalClicks uses another query. */
export const BREAKDOWNS = [
  "Page",
  "InitialPage",
  "ExitPage",
  "PreviousPage",
  "ExternalClicks",
  "ScreenName",
  "InitialChannelType",
  "InitialReferringDomain",
  "InitialUTMSource",
  "InitialUTMMedium",
  "InitialUTMCampaign",
  "InitialUTMContent",
  "InitialUTMTerm",
  "InitialUTMSourceMediumCampaign",
  "Country",
  "Region",
  "City",
  "Language",
  "Timezone",
  "Browser",
  "OS",
  "DeviceType",
  "Viewport",
] as const;
export type Breakdown = (typeof BREAKDOWNS)[number];

interface Source {
  /** Whether the value belongs to each event or to the whole session. */
  type: "event" | "session";
  /** The properties that make up the value. */
  keys: readonly [string, ...string[]];
  /** The index of the property that search matches; undefined if text search makes no sense. */
  searched?: number;
  /** Whether no condition on its properties selects a row. */
  isMade?: true;
}

// source: the properties that the server reads for each table
export const SOURCES: Readonly<Record<Breakdown, Source>> = {
  Page: { type: "event", keys: ["$pathname"], searched: 0 },
  InitialPage: { type: "session", keys: ["$entry_pathname"], searched: 0 },
  ExitPage: { type: "session", keys: ["$exit_pathname"], searched: 0 },
  PreviousPage: { type: "event", keys: ["$prev_pageview_pathname"], isMade: true },
  ExternalClicks: { type: "event", keys: ["$external_click_url"], isMade: true },
  ScreenName: { type: "event", keys: ["$screen_name"], searched: 0 },
  InitialChannelType: { type: "session", keys: ["$channel_type"], searched: 0 },
  InitialReferringDomain: { type: "session", keys: ["$entry_referring_domain"], searched: 0 },
  InitialUTMSource: { type: "session", keys: ["$entry_utm_source"], searched: 0 },
  InitialUTMMedium: { type: "session", keys: ["$entry_utm_medium"], searched: 0 },
  InitialUTMCampaign: { type: "session", keys: ["$entry_utm_campaign"], searched: 0 },
  InitialUTMContent: { type: "session", keys: ["$entry_utm_content"], searched: 0 },
  InitialUTMTerm: { type: "session", keys: ["$entry_utm_term"], searched: 0 },
  InitialUTMSourceMediumCampaign: {
    type: "session",
    keys: ["$entry_utm_source"],
    isMade: true,
  },
  Country: { type: "event", keys: ["$geoip_country_code"], searched: 0 },
  Region: {
    type: "event",
    keys: ["$geoip_country_code", "$geoip_subdivision_1_code", "$geoip_subdivision_1_name"],
    searched: 2,
  },
  City: { type: "event", keys: ["$geoip_country_code", "$geoip_city_name"], searched: 1 },
  Language: { type: "event", keys: ["$browser_language"], searched: 0 },
  Timezone: { type: "event", keys: ["$timezone_offset"] },
  Browser: { type: "event", keys: ["$browser"], searched: 0 },
  OS: { type: "event", keys: ["$os"], searched: 0 },
  DeviceType: { type: "event", keys: ["$device_type"], searched: 0 },
  Viewport: { type: "event", keys: ["$viewport_width", "$viewport_height"] },
};

/** Breakdowns whose values the project's path cleaning rules may change. */
export const isOfPaths = (breakdown: Breakdown): boolean =>
  breakdown === "Page" || breakdown === "InitialPage" || breakdown === "ExitPage";

/** The panels of the screen, and their tabs. */
export const PANELS = {
  sources: ["InitialChannelType", "InitialReferringDomain", "campaigns"],
  pages: ["Page", "InitialPage", "ExitPage", "PreviousPage", "ExternalClicks", "ScreenName"],
  places: ["Country", "Region", "City", "Language", "Timezone"],
  devices: ["Browser", "OS", "DeviceType", "Viewport"],
} as const;
export type PanelName = keyof typeof PANELS;

/** The UTM parameters of campaign links, which share one tab. */
export const CAMPAIGNS = [
  "InitialUTMSource",
  "InitialUTMMedium",
  "InitialUTMCampaign",
  "InitialUTMContent",
  "InitialUTMTerm",
  "InitialUTMSourceMediumCampaign",
] as const satisfies readonly Breakdown[];
export type Campaign = (typeof CAMPAIGNS)[number];

export const isCampaign = (breakdown: Breakdown): breakdown is Campaign =>
  CAMPAIGNS.some((one) => one === breakdown);

/** Return the breakdowns that a panel can show. */
export const breakdownsOf = (panel: PanelName): Breakdown[] =>
  PANELS[panel].flatMap((tab) => (tab === "campaigns" ? CAMPAIGNS : [tab]));
