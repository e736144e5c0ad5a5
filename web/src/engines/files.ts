// The part of the interface that is the same for both engines: JSON next to the page.

import type { Catalog, Description } from "../contract";

export interface Listing extends Catalog {
  engine: "local" | "wasm";
  /** Address of the database file, and its size. */
  database: string;
  bytes: number;
  /** Places of the database file (first byte, byte after the last) whose content is in the file `opening.bin`. */
  opening: [number, number][];
  /** The files of the pages. */
  files: string[];
}

export async function fetchJson<T>(path: string, options: RequestInit = {}): Promise<T> {
  const response = await fetch(path, options);
  const text = await response.text();
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    const isMissing = response.status === 404 && path.includes("/describe/");
    throw new Error(isMissing ? "There is no such object here." : `${path} is missing or damaged (status ${response.status})`);
  }
  if (!response.ok) throw new Error(found.error ?? response.statusText);
  return found as T;
}

export const fetchList = (): Promise<Listing> => fetchJson("api/list.json");

export const fetchDescription = <T extends Description>(name: string): Promise<T> =>
  fetchJson(`api/describe/${encodeURIComponent(name)}.json`);
