import type { Given } from "@/lib/searchParams";
import type { KindName, Question } from "./model";

/** Return the question with new options for a kind. written: without default values */
export function withKindOptions(question: Question, kind: KindName, written: Given): Question {
  const { [kind]: _, ...others } = question.options;
  const isUsual = Object.keys(written).length === 0;
  return { ...question, options: isUsual ? others : { ...others, [kind]: written } };
}
