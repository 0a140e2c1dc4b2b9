// What a page does with posthog-js, old or new, in two loads: it runs the stage that its server asks
// for (see journey.py), reloads, and reports what it saw. The server knows when events have arrived.

const asked = await (await fetch("/journey")).json();
const options = {
  api_host: asked.host,
  autocapture: false,
  disable_session_recording: true,
  // A browser without a window looks like a robot, whose events are not sent.
  opt_out_useragent_filter: true,
};

const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));

async function capture() {
  const client = posthog.init(asked.token, options) ?? posthog;
  const anonymous = client.get_distinct_id();
  client.capture("page viewed", { path: "/", deep: { list: [1, null] } });
  // Two requests that may overtake each other, so neither sets what the other does.
  client.identify(asked.user, { plan: "pro" }, { source: "ad" });
  setPerson(client, { email: asked.email }, { first: 1 });
  client.alias(asked.visitor);
  client.group("company", asked.company, { size: 10 });
  client.capture("order paid", { amount: 12.5 });
  for (let n = 0; n < asked.batched; n++) client.capture("batched", { n });
  client.capture("long ago", {}, { timestamp: new Date(asked.past) });
  await arrived("batched", asked.batched);
  // Still queued when the page goes away, so it leaves as a beacon.
  client.capture("last words");
  return { anonymous };
}

function setPerson(client, set, setOnce) {
  if (client.setPersonProperties) return client.setPersonProperties(set, setOnce);
  client.people.set(set);
  client.people.set_once(setOnce);
}

async function flags() {
  const values = {}, payloads = {};
  const quiet = { send_event: false };
  const { keys, user, variant_key: key, group_key } = asked;
  for (const reader of asked.readers) {
    const client = clientOf(reader);
    await flagsOf(client, () => client.getFeatureFlag(key, quiet) !== undefined);
    values[reader] = Object.fromEntries(keys.map((key) => [key, client.getFeatureFlag(key, quiet)]));
    payloads[reader] = { [key]: client.getFeatureFlagPayload(key) };
  }
  const client = clientOf(user);
  client.group("company", asked.company);
  await flagsOf(client, () => client.getFeatureFlag(group_key, quiet));
  const own = Object.fromEntries(keys.map((key) => [key, client.getFeatureFlag(key)]));
  client.getFeatureFlag(key);
  client.capture("order paid again");
  await arrived("order paid again", 1);
  return { values, payloads, own, own_payload: client.getFeatureFlagPayload(key) };
}

// The flags before a login, after it, and once more after another load, which reports all of them.
// Events are sent late, so the login is sent before any person exists.
async function login() {
  const client = await visitor();
  const before = valuesOf(client, asked.kept_keys);
  const reloaded = nextFlags(client);
  client.identify(asked.user);
  await reloaded;
  return { before, after: valuesOf(client, asked.kept_keys) };
}

async function returned(done) {
  const client = await visitor();
  // What an earlier load left in the browser is read first: ask the server.
  const reloaded = nextFlags(client);
  client.reloadFeatureFlags();
  await reloaded;
  const id = client.get_distinct_id();
  return { ...done, id, later: valuesOf(client, asked.kept_keys) };
}

async function visitor() {
  const request_queue_config = { flush_interval_ms: 5000 };
  const client = posthog.init(asked.token, { ...options, request_queue_config }) ?? posthog;
  await flagsOf(client, () => client.getFeatureFlag(asked.kept_keys[0], { send_event: false }) !== undefined);
  return client;
}

const valuesOf = (client, keys) =>
  Object.fromEntries(keys.map((key) => [key, client.getFeatureFlag(key, { send_event: false })]));

// The next answer of the server, and not what is known: the callback is called at once with that.
const nextFlags = (client) =>
  new Promise((resolve) => {
    let known = true;
    client.onFeatureFlags(() => known || resolve());
    known = false;
  });

// A client that already knows whom it is for, with a memory of its own.
function clientOf(distinctID) {
  const bootstrap = { distinctID, isIdentifiedID: true };
  const own = { capture_pageview: false, persistence_name: distinctID, bootstrap };
  const request_queue_config = { flush_interval_ms: 250 };
  return posthog.init(asked.token, { ...options, ...own, request_queue_config }, distinctID);
}

const flagsOf = (client, loaded) =>
  new Promise((resolve) => client.onFeatureFlags(() => loaded() && resolve()));

const arrived = (event, count) => fetch(`/arrived?${new URLSearchParams({ event, count })}`);

// What the API was asked so far, and the status of its answers.
const requests = () =>
  performance.getEntriesByType("resource").filter(({ name }) => name.startsWith(asked.host))
    .map(({ name, responseStatus }) => [new URL(name).pathname, responseStatus]);

const seen = sessionStorage.getItem("seen");
if (seen) {
  const done = JSON.parse(seen);
  const report = asked.stage === "login" ? await returned(done) : done;
  await fetch("/report", { method: "POST", body: JSON.stringify(report) });
} else {
  const done = await { capture, flags, login }[asked.stage]();
  sessionStorage.setItem("seen", JSON.stringify({ ...done, errors, requests: requests() }));
  location.reload();
}
