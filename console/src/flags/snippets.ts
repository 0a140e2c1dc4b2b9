/** Code that asks for a flag, in the languages of the SDKs. */
export const LANGUAGES = ["js", "python", "node", "curl"] as const;
export type Language = (typeof LANGUAGES)[number];

interface Asked {
  key: string;
  /** Public key of the project. */
  token: string;
  /** Address of the server. */
  host: string;
  /** Keys of the flag's variants; none for a flag that is true or false. */
  variants: readonly string[];
}

export function snippet(language: Language, asked: Asked): string {
  return SNIPPETS[language](asked);
}

const SNIPPETS: Record<Language, (asked: Asked) => string> = { js, python, node, curl };
// A text of JavaScript and of Python alike.
const quoted = (text: string): string => JSON.stringify(text);

function js({ key, token, host, variants }: Asked): string {
  const [variant] = variants;
  const question =
    variant === undefined
      ? `if (posthog.isFeatureEnabled(${quoted(key)})) {`
      : `if (posthog.getFeatureFlag(${quoted(key)}) === ${quoted(variant)}) {`;
  return `import posthog from "posthog-js"

posthog.init(${quoted(token)}, { api_host: ${quoted(host)} })

posthog.onFeatureFlags(() => {
  ${question}
    // the new way
  }
})`;
}

function python({ key, token, host, variants }: Asked): string {
  const [variant] = variants;
  const question =
    variant === undefined
      ? `if posthog.feature_enabled(${quoted(key)}, "distinct id of the user"):`
      : `if posthog.get_feature_flag(${quoted(key)}, "distinct id of the user") == ${quoted(variant)}:`;
  return `from posthog import Posthog

posthog = Posthog(${quoted(token)}, host=${quoted(host)})

${question}
    ...  # the new way`;
}

function node({ key, token, host, variants }: Asked): string {
  const [variant] = variants;
  const question =
    variant === undefined
      ? `if (await posthog.isFeatureEnabled(${quoted(key)}, "distinct id of the user")) {`
      : `if ((await posthog.getFeatureFlag(${quoted(key)}, "distinct id of the user")) === ${quoted(variant)}) {`;
  return `import { PostHog } from "posthog-node"

const posthog = new PostHog(${quoted(token)}, { host: ${quoted(host)} })

${question}
  // the new way
}`;
}

function curl({ key, token, host }: Asked): string {
  const body = {
    api_key: token,
    distinct_id: "distinct id of the user",
    flag_keys_to_evaluate: [key],
  };
  // A quote ends the text of a shell, and stands escaped between two texts.
  const text = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl -X POST '${host}/flags/?v=2' \\
  -H 'Content-Type: application/json' \\
  -d '${text}'`;
}
