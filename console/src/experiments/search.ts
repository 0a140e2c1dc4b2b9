import { choiceOf, type Given, pageOf, present, textOf } from "@/lib/searchParams";

export const EXPERIMENT_STATES = ["draft", "running", "paused", "stopped"] as const;
export type ExperimentState = (typeof EXPERIMENT_STATES)[number];

export const EXPERIMENT_TABS = ["results", "setup", "activity"] as const;
export type ExperimentTab = (typeof EXPERIMENT_TABS)[number];

export interface ExperimentsSearch {
  q?: string;
  state?: ExperimentState;
  /** Shows the archived experiments, and not the others. */
  archived?: true;
}

export interface NewExperimentSearch {
  /** The key of the flag that the experiment is for. */
  flag?: string;
}

export interface ExperimentSearch {
  tab?: ExperimentTab;
  /** The page of the activity. */
  page?: number;
  /** The phase of the results, from 0; by default the last one. */
  phase?: number;
}

export const readExperimentsSearch = (given: Given): ExperimentsSearch =>
  present<ExperimentsSearch>({
    q: textOf(given.q),
    state: choiceOf(EXPERIMENT_STATES, given.state),
    archived: given.archived === true ? true : undefined,
  });

export const readNewExperimentSearch = (given: Given): NewExperimentSearch =>
  present<NewExperimentSearch>({ flag: textOf(given.flag) });

export const readExperimentSearch = (given: Given): ExperimentSearch =>
  present<ExperimentSearch>({
    tab: choiceOf(EXPERIMENT_TABS, given.tab),
    page: pageOf(given.page),
    phase: phaseOf(given.phase),
  });

const phaseOf = (given: unknown): number | undefined =>
  typeof given === "number" && Number.isInteger(given) && given >= 0 ? given : undefined;
