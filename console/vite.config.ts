import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// With hot reload, requests go to a server that runs beside it.
const API = process.env.FANION_URL ?? "http://127.0.0.1:8000";
const proxied = ["/api", "/_preflight", "/capture", "/flags", "/static", "/array"];

/** With hot reload nothing renders the page per request. */
const unrendered: Plugin = {
  name: "unrendered",
  apply: "serve",
  transformIndexHtml: (html) => html.replace("__PREFIX__", "").replace("__DOCS__", ""),
};

export default defineConfig({
  // Relative: the server may be reached below any prefix.
  base: "./",
  plugins: [react(), tailwindcss(), unrendered],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    target: "es2022",
    manifest: true,
    license: true,
    cssMinify: true,
    // A page's policy allows no data: addresses.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // One file for what every screen needs: the bundler emits a chunk for each combination of
        // screens that share a module, and a first visit fetched thirty before it rendered. Icons
        // and small, widely shared modules are two more files for the same reason.
        codeSplitting: {
          groups: [
            { name: "shell", tags: ["$initial"], priority: 2 },
            { name: "icons", test: /lucide-react/, minShareCount: 3 },
            // Else it joins the editor's file, which the tabs of a flag would load for it.
            { name: "questions", test: /\/flags\/(questions|requests)/ },
            { name: "common", test: /\/src\//, minShareCount: 12, maxModuleSize: 3_000 },
          ],
        },
      },
    },
  },
  // The server replaces it in each page that it renders.
  html: { cspNonce: "__NONCE__" },
  server: { proxy: Object.fromEntries(proxied.map((path) => [path, API])) },
});
