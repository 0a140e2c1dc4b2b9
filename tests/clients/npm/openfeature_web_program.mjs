// Reads flags with the OpenFeature SDK for browsers, here in Node, and its OFREP provider, which asks for all flags whenever
// the context changes: a question a line (openfeature.py).

import { createInterface } from "node:readline";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";
import { OpenFeature } from "@openfeature/web-sdk";

const { HOST, KEY } = process.env;
const headers = [["Authorization", `Bearer ${KEY}`]];
const provider = new OFREPWebProvider({ baseUrl: HOST, headers, pollInterval: 0 });
const client = OpenFeature.getClient();
let isFirst = true;

for await (const line of createInterface({ input: process.stdin })) {
  const { flag, default: fallback, context } = JSON.parse(line);
  await OpenFeature.setContext(context);
  if (isFirst) await OpenFeature.setProviderAndWait(provider).catch(() => {});
  isFirst = false;
  const read = typeof fallback === "boolean" ? "getBooleanDetails" : "getStringDetails";
  const { value, variant, reason, errorCode, flagMetadata } = client[read](flag, fallback);
  console.log(JSON.stringify({ value, variant, reason, error: errorCode, metadata: flagMetadata }));
}
