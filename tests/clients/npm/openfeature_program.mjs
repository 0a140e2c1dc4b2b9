// Reads flags with the OpenFeature SDK and its OFREP provider: a question a line (openfeature.py).

import { createInterface } from "node:readline";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OpenFeature } from "@openfeature/server-sdk";

const { HOST, KEY } = process.env;
const headers = [["Authorization", `Bearer ${KEY}`]];
await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl: HOST, headers }));
const client = OpenFeature.getClient();

for await (const line of createInterface({ input: process.stdin })) {
  const { flag, default: fallback, context } = JSON.parse(line);
  const read = typeof fallback === "boolean" ? "getBooleanDetails" : "getStringDetails";
  const { value, variant, reason, errorCode, flagMetadata } =
    await client[read](flag, fallback, context);
  console.log(JSON.stringify({ value, variant, reason, error: errorCode, metadata: flagMetadata }));
}
