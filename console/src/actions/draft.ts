import { isComplete, type PropertyFilter, readFilter } from "@/filters";
import type { Action } from "./queries";

export const MATCHINGS = ["contains", "exact", "regex"] as const;
export type Matching = (typeof MATCHINGS)[number];

/** The texts that a step compares, each in its own way. */
export const COMPARED = ["url", "text", "href"] as const;
export type Compared = (typeof COMPARED)[number];

/** One step as it is edited; an empty text does not restrict anything. */
export interface StepDraft {
  /** null: any event */
  event: string | null;
  texts: Readonly<Record<Compared, string>>;
  matchings: Readonly<Record<Compared, Matching>>;
  selector: string;
  tagName: string;
  filters: readonly PropertyFilter[];
}

export interface ActionDraft {
  name: string;
  description: string;
  steps: readonly StepDraft[];
}

type Step = Action["steps"][number];

export const NEW_STEP: StepDraft = {
  event: null,
  texts: { url: "", text: "", href: "" },
  matchings: { url: "contains", text: "exact", href: "exact" },
  selector: "",
  tagName: "",
  filters: [],
};

export const NEW_ACTION: ActionDraft = { name: "", description: "", steps: [NEW_STEP] };

export const draftOf = ({ name, description = "", steps }: Action): ActionDraft => ({
  name,
  description,
  steps: steps.map(stepDraftOf),
});

const stepDraftOf = (step: Step): StepDraft => ({
  event: step.event || null,
  texts: { url: step.url ?? "", text: step.text ?? "", href: step.href ?? "" },
  matchings: {
    url: step.url_matching ?? "contains",
    text: step.text_matching ?? "exact",
    href: step.href_matching ?? "exact",
  },
  selector: step.selector ?? "",
  tagName: step.tag_name ?? "",
  filters: (step.properties ?? []).flatMap((one) => readFilter(one, "event") ?? []),
});

const hasCondition = ({ event, texts, selector, tagName, filters }: StepDraft): boolean =>
  [event ?? "", ...Object.values(texts), selector, tagName].some((text) => text.trim() !== "") ||
  filters.some(isComplete);

export const isCompleteDraft = ({ name, steps }: ActionDraft): boolean =>
  name.trim() !== "" && steps.length > 0 && steps.every(hasCondition);

export const bodyOf = ({ name, description, steps }: ActionDraft) => ({
  name: name.trim(),
  description: description.trim(),
  steps: steps.map(stepOf),
});

function stepOf({ event, texts, matchings, selector, tagName, filters }: StepDraft): Step {
  const complete = filters.filter(isComplete);
  const given = (text: string): string | null => text.trim() || null;
  const matching = (name: Compared): Matching | null =>
    given(texts[name]) === null ? null : matchings[name];
  return {
    event,
    properties: complete.length === 0 ? null : complete,
    url: given(texts.url),
    url_matching: matching("url"),
    text: given(texts.text),
    text_matching: matching("text"),
    href: given(texts.href),
    href_matching: matching("href"),
    selector: given(selector),
    tag_name: given(tagName),
  };
}
