import { useEffect, useState } from "react";
import { useSettled, useWritten } from "@/lib/hooks";
import type { Given } from "@/lib/searchParams";
import { type QuestionSearch, readQuestion, writeQuestion } from "./question/address";
import type { Question } from "./question/model";

const SETTLED_MS = 250;

const textOf = (question: Question): string => JSON.stringify(writeQuestion(question));

/** The question in the address. Changes are shown at once, and are in the address, as a step back of
 * the browser, once nothing has changed for a moment.
 *
 * others: names in the address that the screen uses for itself
 */
export function useQuestion(
  search: Given,
  others: readonly string[],
  onSettled: (search: QuestionSearch) => void,
) {
  const { question: found, problems } = readQuestion(search, others);
  const address = textOf(found);
  const written = useWritten(address);
  const [question, setQuestion] = useState(found);
  if (written.isForeign) setQuestion(found);
  const settled = useSettled(question, SETTLED_MS);
  const { last, add } = written;
  useEffect(() => {
    if (settled !== question || textOf(settled) === last) return;
    add(textOf(settled));
    onSettled(writeQuestion(settled));
  }, [settled, question, last, add, onSettled]);
  return { question, settled, problems, setQuestion };
}
