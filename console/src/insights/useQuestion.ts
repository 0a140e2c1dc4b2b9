import { useEffect, useState } from "react";
import { useSettled, useWritten } from "@/lib/hooks";
import type { Given } from "@/lib/searchParams";
import { type QuestionSearch, readQuestion, writeQuestion } from "./question/address";
import type { Question } from "./question/model";

const SETTLED_MS = 250;

const textOf = (question: Question): string => JSON.stringify(writeQuestion(question));

/** The question in the URL. Changes show at once, and go into the URL, with a history entry, once the
 * user has paused.
 *
 * others: URL parameters that belong to the screen, not to the question
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
