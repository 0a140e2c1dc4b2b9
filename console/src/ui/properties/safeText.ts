/** Parts of a text: as it is, or a sign that would not be seen, or would turn what stands around it. */
export interface TextPart {
  text: string;
  /** Name of the sign, such as U+202E; null for text. */
  code: string | null;
}

// Controls but line breaks and tabs; marks that turn the direction or have no width, but the one that
// joins emoji; lone surrogates.
const UNSEEN =
  /(?![\t\n\r])(?!(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)\u200D)[\p{Cc}\p{Cf}\p{Cs}]/gu;

export function textParts(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const found of text.matchAll(UNSEEN)) {
    if (found.index > end) parts.push({ text: text.slice(end, found.index), code: null });
    parts.push({ text: found[0], code: codeOf(found[0]) });
    end = found.index + found[0].length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), code: null });
  return parts;
}

function codeOf(sign: string): string {
  return `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** An address that may be followed; null for text that is none, and for other schemes. */
export function webAddress(text: string): string | null {
  if (!/^https?:\/\/[^\s]+$/i.test(text)) return null;
  try {
    const { protocol, href } = new URL(text);
    return protocol === "http:" || protocol === "https:" ? href : null;
  } catch {
    return null;
  }
}

/** The first signs, never with half of a pair at the end. */
export function cut(text: string, length: number): string {
  const end = text.charCodeAt(length - 1);
  return text.slice(0, end >= 0xd800 && end <= 0xdbff ? length - 1 : length);
}
