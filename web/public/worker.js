// The worker of DuckDB-WASM. It requests nothing from other origins: DuckDB would load extensions from there,
// whatever its settings are.

let fetched = 0;

// Before DuckDB's own listener.
addEventListener("message", (event) => {
  const { fetchedTo } = event.data;
  if (!fetchedTo) return;
  event.stopImmediatePropagation();
  fetchedTo.postMessage(fetched);
});

// DuckDB-WASM does not answer if its program cannot be loaded. An error outside of a promise reaches the page.
addEventListener("unhandledrejection", ({ reason }) => setTimeout(() => { throw reason; }));

// DuckDB-WASM logs all errors. The page expects those that name a part of the database which is not attached yet.
const { log } = console;
console.log = (...texts) => /Catalog "[^"]+" does not exist/.test(texts[0]) || log(...texts);

const isOwn = (address) => new URL(address, location.href).origin === location.origin;

globalThis.XMLHttpRequest = class extends XMLHttpRequest {
  open(method, address, ...options) {
    if (!isOwn(address)) throw new Error(`${address} is not loaded`);
    super.open(method, address, ...options);
  }
  send(body) {
    super.send(body);
    if (super.responseType === "arraybuffer") fetched += super.response?.byteLength ?? 0;
  }
};
const { fetch } = self;
self.fetch = (request, options) =>
  isOwn(request.url ?? request) ? fetch(request, options) : Promise.reject(new Error("Not loaded"));

importScripts(`duckdb/duckdb-browser-eh.worker.js${location.search}`);
