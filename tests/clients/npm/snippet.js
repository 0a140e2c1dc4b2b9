// As PostHog's HTML snippet: until the script is there, calls are queued in `window.posthog`. The
// older form loads it from one address for all projects, the newer one from the project's own.

{
  const calls = Object.assign([], { _i: [], __SV: 1, people: [] });
  const queued = ["capture", "identify", "register", "onFeatureFlags", "group", "reset"];
  for (const name of queued) calls[name] = (...given) => calls.push([name, ...given]);

  calls.init = (token, config, name = "posthog") => {
    const form = sessionStorage.getItem("form");
    const script = document.createElement("script");
    script.crossOrigin = "anonymous";
    script.async = true;
    script.src = config.api_host + (form === "newer" ? `/array/${token}/array.js` : "/static/array.js");
    const first = document.getElementsByTagName("script")[0];
    first.parentNode.insertBefore(script, first);
    calls._i.push([token, config, name]);
  };
  window.posthog = calls;
}
