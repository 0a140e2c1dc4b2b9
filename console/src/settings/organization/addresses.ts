import { ApiError } from "@/lib/errors";
import { words } from "@/words/settings";

const T = words.invites;

/** The addresses that are invited at once. source: the server's limit */
const AT_ONCE_MAX = 20;

export interface Problem {
  /** "" for a problem of all addresses together. */
  email: string;
  text: string;
}

/** The addresses in a text, as it is typed or comes from a mail: `Ann <ann@example.com>, …`. */
export function readAddresses(text: string): string[] {
  return text.split(/[,;\n]/).flatMap((part) => {
    const inBrackets = /<([^<>]*)>/.exec(part)?.[1];
    return (inBrackets ?? part).split(/\s+/).filter(Boolean);
  });
}

/** What is wrong with addresses, each by itself. members: the addresses of those who joined */
export function addressProblems(
  emails: readonly string[],
  members: readonly string[],
): readonly Problem[] {
  const known = emails.map((email) => email.toLowerCase());
  const problems = emails.flatMap((email, place): Problem[] => {
    const lower = email.toLowerCase();
    if (!/^[^\s@]+@[^\s@]+$/.test(email)) return [{ email, text: T.noEmail }];
    if (known.indexOf(lower) < place) return [{ email, text: T.twice }];
    return members.includes(lower) ? [{ email, text: T.isMember }] : [];
  });
  if (emails.length <= AT_ONCE_MAX) return problems;
  return [{ email: "", text: T.tooMany(emails.length, AT_ONCE_MAX) }, ...problems];
}

/** The address that the server has refused. sent: those of the request, in its order */
export function refusedAddress(error: unknown, sent: readonly string[]): Problem | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const place = /^(\d+)__target_email$/.exec(error.attr ?? "")?.[1];
  const email = place === undefined ? undefined : sent[Number(place)];
  return email === undefined ? undefined : { email, text: error.detail };
}
