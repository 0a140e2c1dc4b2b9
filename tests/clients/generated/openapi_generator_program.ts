// Program of the client that openapi-generator generates for TypeScript (typescript-fetch). It has
// one type for all alternatives of filters and conditions, with the words of the last, so these are
// cast.

import {
  CaptureApi,
  type CohortCondition,
  CohortsApi,
  Configuration,
  EvaluationApi,
  FeatureFlagsApi,
  type FlagChanges,
  type FlagFilters,
  type InsightFilters,
  InsightsApi,
} from "./client";

declare const process: { env: Record<string, string> };

const task = JSON.parse(process.env["TASK"]!);
const projectId: string = task.project_id;
const configuration = new Configuration({
  basePath: task.host,
  accessToken: task.personal_key,
});
const flagsApi = new FeatureFlagsApi(configuration);
const cohortsApi = new CohortsApi(configuration);

const PRO = { type: "person", key: "plan", operator: "exact", value: "pro" };

function filters(rollout: number): FlagFilters {
  return {
    groups: [{ properties: [PRO], rolloutPercentage: rollout }],
    multivariate: { variants: [{ key: "blue", rolloutPercentage: 100 }] },
    payloads: { blue: { hex: "#00f" } },
  } as unknown as FlagFilters;
}

function createFlag(key: string) {
  const newFlag = { key: `${task.name}-${key}`, filters: filters(50) };
  return flagsApi.createFeatureFlag({ projectId, newFlag });
}

function updateFlag(id: number, flagChanges: FlagChanges) {
  return flagsApi.updateFeatureFlag({ projectId, id, flagChanges });
}

async function flags() {
  const kept = await createFlag("kept");
  const deleted = await createFlag("deleted");
  const patched = await updateFlag(kept.id, { filters: filters(100), active: false });
  await updateFlag(deleted.id, { deleted: true });
  return { created: kept.filters, kept: kept.id, active: patched.active, deleted: deleted.id };
}

async function cohorts() {
  const values = [PRO as unknown as CohortCondition];
  const criteria = await cohortsApi.createCohort({
    projectId,
    newCohort: { name: `${task.name} payers`, filters: { properties: { type: "AND", values } } },
  });
  return { criteria_cohort: criteria.id, file_cohort: await upload() };
}

// The generated method takes only the first media type of a body, which is JSON.
async function upload() {
  const form = new FormData();
  form.set("name", `${task.name} readers`);
  form.set("is_static", "true");
  form.set("csv", new Blob(["reader-1\nreader-2\nreader-3\n"]), "readers.csv");
  const made = await cohortsApi.createCohort({ projectId }, async ({ init }) => {
    const { "Content-Type": _, ...headers } = init.headers as Record<string, string>;
    return { ...init, headers, body: form };
  });
  return made.id;
}

async function persons() {
  const id: number = task.cohort_id;
  const page = await cohortsApi.listCohortPersons({ projectId, id });
  const table = await cohortsApi.listCohortPersonsRaw({ projectId, id, format: "csv" });
  return {
    persons: page.results.map((person) => person.distinctIds),
    csv: await table.raw.text(),
  };
}

async function pages() {
  const seen = [];
  for (const offset of [0, 2]) {
    const page = await flagsApi.listFeatureFlags({
      projectId,
      search: "paged-",
      order: "key",
      limit: 2,
      offset,
    });
    const keys = page.results.map((flag) => flag.key);
    seen.push({ count: page.count, keys, has_next: page.next !== null });
  }
  return seen;
}

async function batch() {
  const distinct_id = `${task.name}-user`;
  const answer = await new CaptureApi(configuration).captureBatch({
    captureBatchRequest: {
      apiKey: task.project_key,
      batch: [
        {
          event: "sent",
          properties: { distinct_id, number: 1 },
          timestamp: "2026-01-15T09:00:00Z",
        },
        { event: "sent", properties: { distinct_id, number: 2 } },
      ],
    },
  });
  return answer.status;
}

async function decided() {
  const answer = await new EvaluationApi(configuration).decide({
    v: 3,
    decideRequest: {
      apiKey: task.project_key,
      distinctId: `${task.name}-user`,
      personProperties: { plan: "pro" },
    },
  });
  return {
    config: { enable_collect_everything: answer.config?.enableCollectEverything },
    editorParams: answer.editorParams,
    errorComputingFlags: answer.errorComputingFlags,
    isAuthenticated: answer.isAuthenticated,
    supportedCompression: answer.supportedCompression,
    featureFlags: answer.featureFlags,
    featureFlagPayloads: answer.featureFlagPayloads,
  };
}

async function insights() {
  const api = new InsightsApi(configuration);
  const viewed = { id: "viewed" };
  const trend = await api.calculateTrend({
    projectId,
    trendsFilters: { events: [viewed], dateFrom: "-7d" },
  });
  const question = { insight: "FUNNELS", events: [viewed, { id: "paid" }], dateFrom: "-7d" };
  const funnel = await api.calculateFunnel({
    projectId,
    insightFilters: question as unknown as InsightFilters,
  });
  const counts = (result: unknown) => (result as { count: number }[]).map((item) => item.count);
  return { trend: counts(trend.result), funnel: counts(funnel.result) };
}

async function grant(flag: number) {
  const access = await flagsApi.createFeatureFlagRoleAccess({
    projectId,
    parentLookupFeatureFlagId: flag,
    newRoleAccess: { roleId: task.role_id },
  });
  return { role: access.role.name, flag: access.featureFlag.key };
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
