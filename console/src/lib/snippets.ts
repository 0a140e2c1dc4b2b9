import { prefix } from "@/lib/prefix";

export const SDKS = ["html", "js", "python", "node", "curl", "posthog"] as const;
export type Sdk = (typeof SDKS)[number];

/** Return the address for SDKs. given: the server's setting; null for this page's own address */
export function captureUrl(given: string | null): string {
  return given ?? location.origin + prefix;
}

/** Text within single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Lines of a program that send a first event. token: the project's key; url: as of `captureUrl` */
export function snippet(sdk: Sdk, token: string, url: string): string {
  // Both are texts in every one of these languages: an address may have signs that end one.
  const [key, host] = [JSON.stringify(token), JSON.stringify(url)];
  switch (sdk) {
    case "html":
      return `<script src=${JSON.stringify(`${url}/array/${token}/array.js`)}></script>
<script>
  posthog.init(${key}, { api_host: ${host} })
</script>`;
    case "js":
      return `import posthog from "posthog-js"

posthog.init(${key}, { api_host: ${host} })

// Page views are captured from now on. Capture other events where they happen:
// posthog.capture("signed up")`;
    case "python":
      return `from posthog import Posthog

posthog = Posthog(${key}, host=${host})
posthog.capture("hello", distinct_id="me")
posthog.shutdown()`;
    case "node":
      return `import { PostHog } from "posthog-node"

const posthog = new PostHog(${key}, { host: ${host} })
posthog.capture({ distinctId: "me", event: "hello" })
await posthog.shutdown()`;
    case "curl":
      return `curl ${quoted(`${url}/capture/`)} -H 'Content-Type: application/json' -d ${quoted(
        JSON.stringify({ api_key: token, event: "hello", distinct_id: "me" }),
      )}`;
    case "posthog":
      return `api_key:  ${token}
api_host: ${url}`;
  }
}
