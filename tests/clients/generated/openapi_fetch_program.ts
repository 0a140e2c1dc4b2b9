// What openapi-fetch does with the types that openapi-typescript generates.

import createClient from "openapi-fetch";

import type { components, paths } from "./schema";

declare const process: { env: Record<string, string> };

type Schemas = components["schemas"];

const task = JSON.parse(process.env["TASK"]!);
const project = { project_id: task.project_id as string };
const client = createClient<paths>({
  baseUrl: task.host,
  headers: { Authorization: `Bearer ${task.personal_key}` },
});

const FLAGS = "/api/projects/{project_id}/feature_flags/";
const COHORTS = "/api/projects/{project_id}/cohorts/";

function filters(rollout: number): Schemas["FlagFilters"] {
  return {
    groups: [
      {
        properties: [{ type: "person", key: "plan", operator: "exact", value: "pro" }],
        rollout_percentage: rollout,
      },
    ],
    multivariate: { variants: [{ key: "blue", rollout_percentage: 100 }] },
    payloads: { blue: { hex: "#00f" } },
  };
}

function expectData<T>(answer: { data?: T; error?: unknown }): NonNullable<T> {
  if (!answer.data) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

async function createFlag(key: string) {
  const body = { key: `${task.name}-${key}`, filters: filters(50) };
  return expectData(await client.POST(FLAGS, { params: { path: project }, body }));
}

async function updateFlag(id: number, body: Schemas["FlagChanges"]) {
  const path = { ...project, id };
  return expectData(await client.PATCH(`${FLAGS}{id}/`, { params: { path }, body }));
}

async function flags() {
  const kept = await createFlag("kept");
  const deleted = await createFlag("deleted");
  const patched = await updateFlag(kept.id, { filters: filters(100), active: false });
  await updateFlag(deleted.id, { deleted: true });
  return { created: kept.filters, kept: kept.id, active: patched.active, deleted: deleted.id };
}

async function cohorts() {
  const criteria = expectData(
    await client.POST(COHORTS, {
      params: { path: project },
      body: {
        name: `${task.name} payers`,
        filters: {
          properties: {
            type: "AND",
            values: [{ type: "person", key: "plan", operator: "exact", value: "pro" }],
          },
        },
      },
    }),
  );
  const form = new FormData();
  form.set("name", `${task.name} readers`);
  form.set("is_static", "true");
  form.set("csv", new Blob(["reader-1\nreader-2\nreader-3\n"]), "readers.csv");
  const file = expectData(
    await client.POST(COHORTS, { params: { path: project }, body: {}, bodySerializer: () => form }),
  );
  return { criteria_cohort: criteria.id, file_cohort: file.id };
}

async function persons() {
  const path = { ...project, id: task.cohort_id as number };
  const members = `${COHORTS}{id}/persons/` as const;
  const page = expectData(await client.GET(members, { params: { path } }));
  const csv = expectData(
    await client.GET(members, { params: { path, query: { format: "csv" } }, parseAs: "text" }),
  );
  if (typeof page === "string" || typeof csv !== "string") throw new Error("not as requested");
  return { persons: page.results.map((person) => person.distinct_ids), csv };
}

async function pages() {
  const seen = [];
  for (const offset of [0, 2]) {
    const query = { search: "paged-", order: "key", limit: 2, offset };
    const page = expectData(await client.GET(FLAGS, { params: { path: project, query } }));
    const keys = page.results.map((flag) => flag.key);
    seen.push({ count: page.count, keys, has_next: page.next !== null });
  }
  return seen;
}

async function batch() {
  const distinct_id = `${task.name}-user`;
  const body = {
    api_key: task.project_key as string,
    batch: [
      {
        event: "sent",
        properties: { distinct_id, number: 1 },
        timestamp: "2026-01-15T09:00:00Z",
      },
      { event: "sent", properties: { distinct_id, number: 2 } },
    ],
  };
  return expectData(await client.POST("/batch/", { body })).status;
}

async function decided() {
  const answer = expectData(
    await client.POST("/decide/", {
      params: { query: { v: 3 } },
      body: {
        api_key: task.project_key,
        distinct_id: `${task.name}-user`,
        person_properties: { plan: "pro" },
      },
    }),
  );
  return {
    config: { enable_collect_everything: answer.config?.enable_collect_everything },
    editorParams: answer.editorParams,
    errorComputingFlags: answer.errorComputingFlags,
    isAuthenticated: answer.isAuthenticated,
    supportedCompression: answer.supportedCompression,
    featureFlags: answer.featureFlags,
    featureFlagPayloads: answer.featureFlagPayloads,
  };
}

async function insights() {
  const trend = expectData(
    await client.POST("/api/projects/{project_id}/insights/trend/", {
      params: { path: project },
      body: { events: [{ id: "viewed" }], date_from: "-7d" },
    }),
  );
  const funnel = expectData(
    await client.POST("/api/projects/{project_id}/insights/funnel/", {
      params: { path: project },
      body: { insight: "FUNNELS", events: [{ id: "viewed" }, { id: "paid" }], date_from: "-7d" },
    }),
  );
  const counts = (result: unknown) => (result as { count: number }[]).map((item) => item.count);
  return { trend: counts(trend.result), funnel: counts(funnel.result) };
}

async function grant(flag: number) {
  const access = expectData(
    await client.POST(`${FLAGS}{parent_lookup_feature_flag_id}/role_access/`, {
      params: { path: { ...project, parent_lookup_feature_flag_id: flag } },
      body: { role_id: task.role_id },
    }),
  );
  return { role: access.role.name, flag: access.feature_flag.key };
}

async function main() {
  const made = await flags();
  const seen = {
    ...made,
    ...(await cohorts()),
    ...(await persons()),
    pages: await pages(),
    batch: await batch(),
    decided: await decided(),
    ...(await insights()),
    access: await grant(made.kept),
  };
  console.log(JSON.stringify(seen));
}

void main();
