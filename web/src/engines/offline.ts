// Use without a network: the service worker `public/offline.js` keeps what was loaded.

import type { Description } from "../contract";
import { fetchDescription, fetchFigures, fetchJson, type Listing } from "./files";

const WAIT_MS = 10_000;
const PART = 2 ** 22;

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
    const files = ["./", "api/list.json", "opening.bin", ...listing.files].map((file) => new URL(file, document.baseURI).href);
    // Those that were loaded before.
    const entries = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
    const loaded = entries.filter(({ name, responseStatus }) => /\/api\/.*\.json$/.test(name) && responseStatus === 200);
    workers.controller?.postMessage({ files: [...new Set([...files, ...loaded.map(({ name }) => name)])] });
  } catch {
    // The pages work without it, but only with a network.
  }
}

/** Loads every description and the whole database, which the service worker then keeps. */
export async function keepSite(listing: Listing, report: (share: number) => void): Promise<void> {
  await fetchFigures();
  for (const { name } of listing.objects) {
    const { answer, chart } = await fetchDescription<Description & { answer?: string; chart?: string }>(name);
    await Promise.all([answer, chart].map((path) => path && fetchJson(path)));
  }
  for (let start = 0; start < listing.bytes; start += PART) {
    const last = Math.min(start + PART, listing.bytes) - 1;
    const response = await fetch(listing.database, { headers: { Range: `bytes=${start}-${last}` } });
    if (response.status !== 206) throw new Error("This server cannot send parts of a file, which this needs");
    await response.arrayBuffer();
    report((last + 1) / listing.bytes);
  }
}
