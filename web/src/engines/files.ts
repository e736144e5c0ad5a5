// The part of the interface that is the same for both engines: JSON next to the page.

import type { Catalog, Description, Figure } from "../contract";

export interface Listing extends Catalog {
  engine: "local" | "wasm";
  /** Addresses of the database's parts, by table; and the size of all. See publish/site/parts.py. */
  parts: Record<string, string>;
  bytes: number;
  /** The files of the pages. */
  files: string[];
}

/** Fetches a JSON file or answer, which must have some `parts`. */
export async function fetchJson<T>(path: string, options: RequestInit = {}, parts: (keyof T)[] = []): Promise<T> {
  const response = await fetch(path, options);
  const text = await response.text();
  const damaged = new Error(`${path} is missing or damaged (status ${response.status})`);
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw response.status === 404 && path.includes("/describe/") ? new Error("There is no such object here.") : damaged;
  }
  if (!response.ok) throw new Error(found?.error ?? response.statusText);
  if (parts.some((part) => found?.[part] == null)) throw damaged;
  return found as T;
}

export const fetchList = (): Promise<Listing> => fetchJson("api/list.json", {}, ["objects", "traces", "formats"]);

export const fetchDescription = <T extends Description>(name: string): Promise<T> =>
  fetchJson(`api/describe/${encodeURIComponent(name)}.json`, {}, ["columns", "notes", "sources"]);

export const fetchFigures = async (): Promise<Figure[]> => (await fetchJson<{ figures: Figure[] }>("api/verify.json", {}, ["figures"])).figures;

/** Whether a file is compressed. DuckDB reads one that is not by ranges, because it is large. */
export const isCompressed = (path: string): boolean => /\.bin\b/.test(path);

/** Fetches a compressed file. Returns its content and the number of bytes that were sent. */
export async function fetchCompressed(path: string): Promise<{ content: ArrayBuffer; size: number }> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`status ${response.status}`);
  const packed = await response.blob();
  return { content: await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer(), size: packed.size };
}
