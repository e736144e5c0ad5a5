import type { Engine } from "../contract";
import { fetchList } from "./files";

/** Opens the engine that the server names; DuckDB is loaded only where it runs in the browser. */
export async function openEngine(): Promise<Engine> {
  const listing = await fetchList();
  if (listing.engine === "wasm") return (await import("./wasm")).openWasm(listing);
  return (await import("./local")).openLocal(listing);
}
