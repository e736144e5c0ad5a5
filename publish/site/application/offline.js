// The service worker of a site: it keeps the files and the blocks of the database that were loaded, so that the
// pages work without a network. Files come from the network first, except those whose address has their version.

const FILES = "files";
const BLOCK = 65_536;

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("message", (event) => event.waitUntil(keepFiles(event.data.files)));
addEventListener("fetch", (event) => {
  const { method, url, headers } = event.request;
  const { origin, pathname } = new URL(url);
  if (origin !== location.origin || !["GET", "HEAD"].includes(method)) return;
  const isDatabase = pathname.endsWith(".duckdb") && (method === "HEAD" || headers.has("range"));
  event.respondWith(isDatabase ? answerDatabase(event) : answerFile(event.request, event));
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
    if (isKept) event.waitUntil(cache.put(request, response.clone()).catch(() => undefined));
    return response;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

/** Answers a request for a range from blocks; the cache has a name for each version of the database. */
async function answerDatabase(event) {
  const { method, url, headers } = event.request;
  const cache = await caches.open(url);
  if (method === "HEAD") return answerHead(event, cache);
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.get("range")) ?? [];
  const first = Number(from);
  const last = Number(to);
  const key = (block) => `${url}&block=${block}`;
  const places = Array.from({ length: Math.floor(last / BLOCK) - Math.floor(first / BLOCK) + 1 }, (_, place) => Math.floor(first / BLOCK) + place);
  const blocks = await Promise.all(places.map(async (block) => (await cache.match(key(block)))?.arrayBuffer()));
  const missing = places.filter((_, place) => !blocks[place]);
  let fetched = 0;
  if (to === undefined) return fetch(event.request);
  // A request for one byte asks whether the server has ranges, and how long the answer is.
  if (last === first) return fetch(event.request).catch(() => new Response("?", { status: 206, headers: { "Content-Length": 1 } }));
  if (missing.length) {
    const start = missing[0];
    const end = missing.at(-1) + 1;
    try {
      const response = await fetch(url, { headers: { Range: `bytes=${start * BLOCK}-${end * BLOCK - 1}` } });
      if (response.status !== 206) return response;
      const bytes = await response.arrayBuffer();
      fetched = bytes.byteLength;
      for (let block = start; block < end; block++) {
        const content = bytes.slice((block - start) * BLOCK, (block + 1 - start) * BLOCK);
        blocks[block - places[0]] = content;
        if (content.byteLength) event.waitUntil(cache.put(key(block), new Response(content)).catch(() => undefined));
      }
    } catch (error) {
      // DuckDB reads ahead. The first blocks are enough, if they were kept.
      if (start === places[0]) throw error;
      blocks.splice(start - places[0]);
    }
  }
  const found = await new Blob(blocks).arrayBuffer();
  const start = first - places[0] * BLOCK;
  const content = found.slice(start, start + last + 1 - first);
  return new Response(content, {
    status: 206,
    headers: { "Content-Length": content.byteLength, "X-Fetched": fetched },
  });
}

/** A HEAD request gives the size of the database. */
async function answerHead({ request }, cache) {
  try {
    const response = await fetch(request);
    const size = response.headers.get("content-length");
    if (response.ok && size) await keepSize(request.url, cache, { size, status: response.status });
    return response;
  } catch (error) {
    const kept = await (await cache.match(request.url))?.json();
    if (!kept) throw error;
    return new Response(null, { status: kept.status, headers: { "Content-Length": kept.size } });
  }
}

/** Keeps the size, and deletes the blocks of earlier versions. */
async function keepSize(url, cache, size) {
  await cache.put(url, Response.json(size));
  const [path] = url.split("?");
  const others = (await caches.keys()).filter((name) => name.startsWith(`${path}?`) && name !== url);
  await Promise.all(others.map((name) => caches.delete(name)));
}
