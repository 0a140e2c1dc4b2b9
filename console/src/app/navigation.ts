import {
  Activity,
  Boxes,
  ChartLine,
  CloudDownload,
  DatabaseZap,
  FileOutput,
  FileUp,
  Flag,
  FlaskConical,
  Globe,
  History,
  House,
  LayoutDashboard,
  type LucideIcon,
  MapPin,
  MousePointerClick,
  Radio,
  Settings,
  Shapes,
  Tags,
  Users,
  UsersRound,
} from "lucide-react";
import { words } from "@/words/app";

const SCREENS = words.screens;

export interface Destination {
  to:
    | "/project/$projectId"
    | "/project/$projectId/live"
    | "/project/$projectId/insights"
    | "/project/$projectId/sql"
    | "/project/$projectId/dashboards"
    | "/project/$projectId/web"
    | "/project/$projectId/flags"
    | "/project/$projectId/experiments"
    | "/project/$projectId/persons"
    | "/project/$projectId/groups"
    | "/project/$projectId/cohorts"
    | "/project/$projectId/events"
    | "/project/$projectId/actions"
    | "/project/$projectId/segments"
    | "/project/$projectId/properties"
    | "/project/$projectId/annotations"
    | "/project/$projectId/import"
    | "/project/$projectId/exports"
    | "/project/$projectId/ingestion"
    | "/project/$projectId/activity"
    | "/project/$projectId/settings";
  label: string;
  icon: LucideIcon;
  /** The shortcut that goes there. */
  keys: string;
}

interface Section {
  label: string | null;
  destinations: readonly Destination[];
}

/** The navigation, and the shortcuts that go to its screens. A new screen is added here. */
export const SECTIONS: readonly Section[] = [
  {
    label: null,
    destinations: [{ to: "/project/$projectId", label: SCREENS.home, icon: House, keys: "g h" }],
  },
  {
    label: words.sections.watch,
    destinations: [
      { to: "/project/$projectId/live", label: SCREENS.live, icon: Radio, keys: "g l" },
      { to: "/project/$projectId/web", label: SCREENS.web, icon: Globe, keys: "g w" },
    ],
  },
  {
    label: words.sections.ask,
    destinations: [
      {
        to: "/project/$projectId/insights",
        label: SCREENS.insights,
        icon: ChartLine,
        keys: "g i",
      },
      { to: "/project/$projectId/sql", label: SCREENS.sql, icon: DatabaseZap, keys: "g q" },
      {
        to: "/project/$projectId/dashboards",
        label: SCREENS.dashboards,
        icon: LayoutDashboard,
        keys: "g d",
      },
    ],
  },
  {
    label: words.sections.decide,
    destinations: [
      { to: "/project/$projectId/flags", label: SCREENS.flags, icon: Flag, keys: "g f" },
      {
        to: "/project/$projectId/experiments",
        label: SCREENS.experiments,
        icon: FlaskConical,
        keys: "g x",
      },
    ],
  },
  {
    label: words.sections.people,
    destinations: [
      { to: "/project/$projectId/persons", label: SCREENS.persons, icon: Users, keys: "g p" },
      { to: "/project/$projectId/groups", label: SCREENS.groups, icon: Boxes, keys: "g r" },
      { to: "/project/$projectId/cohorts", label: SCREENS.cohorts, icon: UsersRound, keys: "g c" },
    ],
  },
  {
    label: words.sections.data,
    destinations: [
      { to: "/project/$projectId/events", label: SCREENS.events, icon: Activity, keys: "g e" },
      {
        to: "/project/$projectId/actions",
        label: SCREENS.actions,
        icon: MousePointerClick,
        keys: "g k",
      },
      { to: "/project/$projectId/segments", label: SCREENS.segments, icon: Shapes, keys: "g v" },
      { to: "/project/$projectId/properties", label: SCREENS.properties, icon: Tags, keys: "g o" },
      {
        to: "/project/$projectId/annotations",
        label: SCREENS.annotations,
        icon: MapPin,
        keys: "g t",
      },
      { to: "/project/$projectId/import", label: SCREENS.imports, icon: FileUp, keys: "g m" },
      { to: "/project/$projectId/exports", label: SCREENS.exports, icon: FileOutput, keys: "g b" },
      {
        to: "/project/$projectId/ingestion",
        label: SCREENS.ingestion,
        icon: CloudDownload,
        keys: "g n",
      },
      { to: "/project/$projectId/activity", label: SCREENS.activity, icon: History, keys: "g a" },
      { to: "/project/$projectId/settings", label: SCREENS.settings, icon: Settings, keys: "g s" },
    ],
  },
];

export const DESTINATIONS = SECTIONS.flatMap((section) => section.destinations);
