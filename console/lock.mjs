// Lock files carry hashes and no address, also not of those who take donations.

import { readFileSync, writeFileSync } from "node:fs";

const path = "package-lock.json";
const lock = JSON.parse(readFileSync(path, "utf8"));
for (const entry of Object.values(lock.packages)) delete entry.funding;
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
