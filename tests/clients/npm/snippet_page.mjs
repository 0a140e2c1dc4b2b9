// A page with the snippet: what it calls before the script is there takes place once it is.

const asked = await (await fetch("/journey")).json();
const errors = [];
addEventListener("error", (event) => errors.push(String(event.message ?? event.target.src)), true);

sessionStorage.setItem("form", asked.form);
posthog.init(asked.token, {
  api_host: asked.host,
  capture_exceptions: true,
  capture_performance: { web_vitals: true },
  // A browser without a window looks like a robot, whose events are not sent.
  opt_out_useragent_filter: true,
});
posthog.identify(asked.user);
posthog.capture("snippet loaded", { form: asked.form });
const flag = await new Promise((resolve) =>
  posthog.onFeatureFlags(() => {
    const found = window.posthog.getFeatureFlag(asked.flag);
    if (found !== undefined) resolve(found);
  }),
);
await fetch(`/arrived?${new URLSearchParams({ event: "snippet loaded", count: 1 })}`);

const scripts = performance.getEntriesByType("resource")
  .filter(({ name, initiatorType }) => name.startsWith(asked.host) && initiatorType === "script")
  .map(({ name, responseStatus }) => [new URL(name).pathname, responseStatus]);
const version = window.posthog.LIB_VERSION ?? window.posthog.version;
await fetch("/report", { method: "POST", body: JSON.stringify({ flag, errors, scripts, version }) });
