// Lock files carry hashes and no address, also not of those who take donations.
// A registry may lack packages of other systems, and `npm ci` then refuses the lock: those are
// locked by version alone.

import { readFileSync, writeFileSync } from "node:fs";

const path = "package-lock.json";
const lock = JSON.parse(readFileSync(path, "utf8"));
const { packages } = lock;

for (const { dev, optionalDependencies } of Object.values(packages)) {
  for (const [name, version] of Object.entries(optionalDependencies ?? {})) {
    packages[`node_modules/${name}`] ??= {
      version,
      ...systemOf(name),
      ...(dev && { dev }),
      optional: true,
    };
  }
}
for (const entry of Object.values(packages)) delete entry.funding;
const sorted = Object.keys(packages).sort((a, b) => a.localeCompare(b, "en"));
lock.packages = Object.fromEntries(sorted.map((key) => [key, packages[key]]));
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);

/** `…-linux-arm64-musl` runs on one system; others do not load it. */
function systemOf(name) {
  if (name.endsWith("-wasm32-wasi")) return { cpu: ["wasm32"] };
  const found = /-([a-z0-9]+)-(x64|arm64|arm)(?:-(gnu|musl|msvc|gnueabihf))?$/.exec(name);
  if (found === null) throw new Error(`the lock lacks ${name}, which names no system`);
  const [, os, cpu, abi] = found;
  const libc = os === "linux" ? [abi === "musl" ? "musl" : "glibc"] : undefined;
  return { cpu: [cpu], ...(libc && { libc }), os: [os] };
}
