// The address of a view: the page and its parameters are in the hash, so that any static server serves it.

import { useEffect, useState } from "preact/hooks";
import type { Catalog, Texts } from "./contract";

export interface Route {
  page: string;
  name: string;
  texts: Texts;
}

export function readRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", ...rest] = path.split("/");
  return { page, name: decode(rest.join("/")), texts: Object.fromEntries(new URLSearchParams(search)) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Half of an escaped character, from an address that was cut.
    return text;
  }
}

export function toHash(page: string, name = "", texts: Texts = {}): string {
  const search = new URLSearchParams(texts).toString();
  return `#/${page}${name && `/${encodeURIComponent(name)}`}${search && `?${search}`}`;
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const update = (): void => setHash(location.hash);
    addEventListener("hashchange", update);
    return () => removeEventListener("hashchange", update);
  }, []);
  return readRoute(hash);
}

/** The address where readers find the pages, without the hash. */
export const addressOf = (catalog: Catalog): string => catalog.address || new URL(".", location.href).href;
