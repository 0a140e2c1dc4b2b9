// A visitor who signs up, with posthog-js as it is by default: until `identify` it sends events
// without a person profile.

const asked = await (await fetch("/journey")).json();
const arrived = (event) => fetch(`/arrived?${new URLSearchParams({ event, count: 1 })}`);

const client = await new Promise((loaded) =>
  posthog.init(asked.token, {
    api_host: asked.host,
    autocapture: false,
    disable_session_recording: true,
    // A browser without a window looks like a robot, whose events are not sent.
    opt_out_useragent_filter: true,
    // Before the first page view, which it sends by itself.
    loaded: (client) => {
      client.register({ journey: asked.user });
      loaded(client);
    },
  }),
);
const anonymous = client.get_distinct_id();
await arrived("$pageview");
client.identify(asked.user, { plan: "pro" });
client.capture("signed up");
await arrived("signed up");
await fetch("/report", { method: "POST", body: JSON.stringify({ anonymous }) });
