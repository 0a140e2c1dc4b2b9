// What an application does with posthog-node, old or new. Reads JOURNEY (JSON, see journey.py) and
// prints one line of JSON: what the application saw.

const asked = JSON.parse(process.env.JOURNEY);
const { PostHog } = await import(asked.package);

function capture(client) {
  const { visitor, user, company, email } = asked;
  const send = (event, distinctId, fields = {}) => client.capture({ event, distinctId, ...fields });
  const setOnce = (values) => send("$set", user, { properties: { $set_once: values } });
  send("page viewed", visitor, { properties: { path: "/", deep: { list: [1, null] } } });
  client.alias({ distinctId: user, alias: visitor });
  client.identify({ distinctId: user, properties: { plan: "free" } });
  client.identify({ distinctId: user, properties: { plan: "pro", email } });
  setOnce({ source: "ad" });
  setOnce({ source: "mail", first: 1 });
  client.groupIdentify({ groupType: "company", groupKey: company, properties: { size: 10 } });
  send("order paid", user, { properties: { amount: 12.5 }, groups: { company } });
  for (let n = 0; n < asked.batched; n++) send("batched", user, { properties: { n } });
  send("long ago", user, { timestamp: new Date(asked.past) });
  return { anonymous: visitor };
}

async function flags(client) {
  const values = {}, payloads = {}, own = {};
  for (const reader of asked.readers) {
    const found = await client.getAllFlagsAndPayloads(reader);
    values[reader] = found.featureFlags;
    payloads[reader] = found.featureFlagPayloads;
  }
  const { user, variant_key: key } = asked;
  const options = { groups: { company: asked.company } };
  for (const key of asked.keys) own[key] = await client.getFeatureFlag(key, user, options);
  await client.getFeatureFlag(key, user, options);
  const own_payload = await client.getFeatureFlagPayload(key, user, own[key], options);
  client.capture({
    event: "order paid again", distinctId: user, sendFeatureFlags: true, ...options,
  });
  return { values, payloads, own, own_payload };
}

const errors = [];
const client = new PostHog(asked.token, { host: asked.host });
client.on("error", (error) => errors.push(String(error)));
const seen = await { capture, flags }[asked.stage](client);
await (client.shutdownAsync ?? client.shutdown).call(client);
console.log(JSON.stringify({ ...seen, errors }));
