import { useEffect, useState } from "react";
import { useSettled } from "@/lib/hooks";
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
  const [seen, setSeen] = useState(address);
  const [written, setWritten] = useState(address);
  const [question, setQuestion] = useState(found);
  if (address !== seen) {
    setSeen(address);
    // Changed from elsewhere: by "back", or a link.
    if (address !== written) {
      setWritten(address);
      setQuestion(found);
    }
  }
  const settled = useSettled(question, SETTLED_MS);
  useEffect(() => {
    if (settled !== question || textOf(settled) === written) return;
    setWritten(textOf(settled));
    onSettled(writeQuestion(settled));
  }, [settled, question, written, onSettled]);
  return { question, settled, problems, setQuestion };
}
