// Use without a network: the service worker `public/offline.js` keeps what was loaded.

import type { Description } from "../contract";
import { fetchDescription, fetchFigures, fetchJson, isCompressed, type Listing } from "./files";

const WAIT_MS = 10_000;

/** Starts the service worker, and gives it the files of the pages. Resolves when it answers requests. */
export async function keepFiles(listing: Listing): Promise<void> {
  if (!("serviceWorker" in navigator)) return;
  const workers = navigator.serviceWorker;
  const isControlled = new Promise<void>((resolve) => {
    workers.addEventListener("controllerchange", () => resolve(), { once: true });
    setTimeout(resolve, WAIT_MS);
  });
  try {
    const { active } = await workers.register("offline.js");
    // A reload that bypasses caches bypasses an active service worker, too.
    if (!active) await isControlled;
    const files = ["./", "api/list.json", ...listing.files].map((file) => new URL(file, document.baseURI).href);
    // Those that were loaded before.
    const entries = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
    const loaded = entries.filter(({ name, responseStatus }) => /\/api\/.*\.json$/.test(name) && responseStatus === 200);
    workers.controller?.postMessage({ files: [...new Set([...files, ...loaded.map(({ name }) => name)])] });
  } catch {
    // The pages work without it, but only with a network.
  }
}

/** Loads every description and all parts of the database, which the service worker then keeps. */
export async function keepSite(listing: Listing, report: (share: number) => void): Promise<void> {
  await fetchFigures();
  for (const { name } of listing.objects) {
    const { answer, chart } = await fetchDescription<Description & { answer?: string; chart?: string }>(name);
    await Promise.all([answer, chart].map((path) => path && fetchJson(path)));
  }
  const parts = Object.values(listing.parts).filter(isCompressed);
  for (const [place, part] of parts.entries()) {
    const response = await fetch(part);
    if (!response.ok) throw new Error(`Cannot load ${part} of this site (status ${response.status})`);
    await response.arrayBuffer();
    report((place + 1) / parts.length);
  }
}
