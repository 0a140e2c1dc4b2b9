import type { SentencePart } from "@/filters";
import { useKind } from "@/insights/kinds";
import { completed } from "@/insights/question/complete";
import type { Question } from "@/insights/question/model";
import { useNames } from "@/insights/question/names";
import { asSentence } from "@/insights/question/sentence";
import { words } from "@/words/filters";

/** The question as text without a full stop, or null while it is incomplete. */
export function useSentence(question: Question): string | null {
  const shown = completed(question);
  const names = useNames(shown);
  const kind = useKind(question.kind).data;
  if (kind === undefined || kind.name !== question.kind || kind.missing(shown) !== null)
    return null;
  return plainText(asSentence(kind.sentence(shown, names)).slice(0, -1));
}

// No space before a comma.
const isMark = ({ kind, text }: SentencePart): boolean => kind === "text" && text === words.comma;

const plainText = (parts: readonly SentencePart[]): string =>
  parts.map((part, place) => (place === 0 || isMark(part) ? part.text : ` ${part.text}`)).join("");
