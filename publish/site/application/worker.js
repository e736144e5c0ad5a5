// The worker of DuckDB-WASM. It requests nothing from other origins: DuckDB would load extensions from there,
// whatever its settings are.
const isOwn = (address) => new URL(address, location.href).origin === location.origin;

const { open } = XMLHttpRequest.prototype;
XMLHttpRequest.prototype.open = function (method, address, ...options) {
  if (!isOwn(address)) throw new Error(`${address} is not loaded`);
  return open.call(this, method, address, ...options);
};
const { fetch } = self;
self.fetch = (request, options) =>
  isOwn(request.url ?? request) ? fetch(request, options) : Promise.reject(new Error("Not loaded"));

importScripts("duckdb/duckdb-browser-eh.worker.js");
