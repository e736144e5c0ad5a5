// The service worker of a site: it keeps the files that were loaded, so that the pages work without a network.
// Files come from the network first, except those whose address has their version. Large parts of the database,
// which DuckDB reads by ranges, are not kept.

const FILES = "files";

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("message", (event) => event.waitUntil(keepFiles(event.data.files)));
addEventListener("fetch", (event) => {
  const { method, url, headers } = event.request;
  const isKept = new URL(url).origin === location.origin && method === "GET" && !headers.has("range");
  if (isKept) event.respondWith(answerFile(event.request, event));
});

async function keepFiles(addresses) {
  const cache = await caches.open(FILES);
  const isNew = await Promise.all(addresses.map(async (address) => !(await cache.match(address))));
  await cache.addAll(addresses.filter((_, place) => isNew[place]));
}

async function answerFile(request, event) {
  const cache = await caches.open(FILES);
  const hasVersion = /\/assets\/|\?/.test(request.url) && request.mode !== "navigate";
  const kept = await cache.match(request);
  if (hasVersion && kept) return kept;
  try {
    const response = await fetch(request);
    const isKept = response.status === 200 && !/no-store/.test(response.headers.get("cache-control"));
    if (isKept) event.waitUntil(keepFile(cache, request, response.clone(), hasVersion).catch(() => undefined));
    return response;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

/** Keeps a file. Its new version replaces earlier ones. */
async function keepFile(cache, request, response, hasVersion) {
  if (hasVersion) await cache.delete(request, { ignoreSearch: true });
  await cache.put(request, response);
}
