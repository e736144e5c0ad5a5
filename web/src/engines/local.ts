// The engine behind `traces explore`: the process that serves this page.

import type { Answer, Catalog, Drawing, Engine, Query } from "../contract";
import { fetchDescription, fetchFigures, fetchJson } from "./files";

export function openLocal(listing: Catalog): Engine {
  const call = <T>(work: string, query: Query, signal?: AbortSignal): Promise<T> => {
    const id = crypto.randomUUID();
    const cancel = (): void => void fetch(`api/cancel?id=${id}`);
    signal?.addEventListener("abort", cancel);
    const parameters = new URLSearchParams({ query: JSON.stringify(query), id });
    const result = fetchJson<T>(`api/${work}?${parameters}`, signal ? { signal } : {});
    return result.finally(() => signal?.removeEventListener("abort", cancel));
  };
  return {
    list: async () => listing,
    describe: fetchDescription,
    verify: fetchFigures,
    bind: (query) => call("bind", query),
    run: (query, signal) => call<Answer>("run", query, signal),
    draw: (query, signal) => call<Drawing>("draw", query, signal),
    export: async (query, format) => {
      const response = await fetch(`api/export/${format}?query=${encodeURIComponent(JSON.stringify(query))}`);
      if (!response.ok) throw new Error((await response.json()).error);
      return response.blob();
    },
    loaded: async () => "",
  };
}
