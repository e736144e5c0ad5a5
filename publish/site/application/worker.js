// The worker of DuckDB-WASM. It requests nothing from other origins: DuckDB would load extensions from there,
// whatever its settings are. The page sends it the blocks of the database that DuckDB reads first.

let opening = { ranges: [], bytes: new Uint8Array() };
let fetched = 0;

// Before DuckDB's own listener.
addEventListener("message", (event) => {
  const { opening: received, fetchedTo } = event.data;
  if (!received && !fetchedTo) return;
  event.stopImmediatePropagation();
  if (received) opening = received;
  fetchedTo?.postMessage(fetched);
});

// DuckDB-WASM does not answer if its program cannot be loaded. An error outside of a promise reaches the page.
addEventListener("unhandledrejection", ({ reason }) => setTimeout(() => { throw reason; }));

const isOwn = (address) => new URL(address, location.href).origin === location.origin;

/** The bytes from one place on, as many as the page sent; DuckDB reads the others when it needs them. */
function readOpening(first, last) {
  let before = 0;
  for (const [from, to] of opening.ranges) {
    if (from <= first && first < to) {
      const start = before + first - from;
      return opening.bytes.slice(start, Math.min(start + last + 1 - first, before + to - from)).buffer;
    }
    before += to - from;
  }
  return undefined;
}

globalThis.XMLHttpRequest = class extends XMLHttpRequest {
  open(method, address, ...options) {
    if (!isOwn(address)) throw new Error(`${address} is not loaded`);
    super.open(method, address, ...options);
  }
  setRequestHeader(name, value) {
    // One byte is asked for to see whether the server has ranges.
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(value) ?? [];
    if (name === "Range" && Number(last) > Number(first)) this.known = readOpening(Number(first), Number(last));
    super.setRequestHeader(name, value);
  }
  send(body) {
    if (this.known) return;
    super.send(body);
    // The service worker sends how much of an answer is from the network.
    const size = super.getResponseHeader("X-Fetched") ?? super.response?.byteLength ?? 0;
    if (super.responseType === "arraybuffer") fetched += Number(size);
  }
  get status() {
    return this.known ? 206 : super.status;
  }
  get response() {
    return this.known ?? super.response;
  }
};
const { fetch } = self;
self.fetch = (request, options) =>
  isOwn(request.url ?? request) ? fetch(request, options) : Promise.reject(new Error("Not loaded"));

importScripts(`duckdb/duckdb-browser-eh.worker.js${location.search}`);
