import { useMemo, useState } from "preact/hooks";
import type { Catalog, Engine, Entry, PageProps, Trace } from "../contract";
import { formatCell, formatCount } from "../format";
import { Copy } from "../parts/copy";
import { Gallery } from "../parts/gallery";
import { objectHash } from "../parts/links";
import { addressOf } from "../route";
import { search } from "../search";

const KINDS = { query: "Queries", view: "Views", table: "Base tables" };

export function HomePage({ engine, catalog, words }: PageProps & { words: string }) {
  const [text, setText] = useState(words);
  const [trace, setTrace] = useState("");
  const found = useMemo(() => search(catalog, text), [catalog, text]);
  const listed = found.filter(({ name }) => !trace || name.startsWith(`${trace}.`));
  const schemas = [...new Set(catalog.objects.map(({ name }) => name.split(".")[0] ?? ""))].sort();
  return (
    <>
      <h1>Public GPU-cluster traces</h1>
      <form role="search" onSubmit={(event) => event.preventDefault()}>
        <div class="field">
          <label for="search">Search titles, meanings and columns</label>
          <input id="search" type="search" placeholder="queueing delay" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </div>
        <div class="field">
          <label for="trace">Trace</label>
          <select id="trace" value={trace} onChange={(event) => setTrace(event.currentTarget.value)}>
            <option value="">all</option>
            {schemas.map((schema) => <option key={schema}>{schema}</option>)}
          </select>
        </div>
      </form>
      {!text && !trace && (
        <section aria-label="Traces" class="cards">
          {catalog.traces.map((one) => <Card key={one.name} trace={one} onOpen={setTrace} />)}
        </section>
      )}
      <Gallery engine={engine} entries={listed.filter(({ has_chart, data }) => has_chart && data === "all")} />
      {listed.length === 0 && <p role="status">Nothing matches “{text}”. Try fewer or other words.</p>}
      {(Object.keys(KINDS) as Entry["kind"][]).map((kind) => <List key={kind} title={KINDS[kind]} entries={listed.filter((entry) => entry.kind === kind)} catalog={catalog} />)}
      {catalog.database && <Elsewhere engine={engine} catalog={catalog} />}
    </>
  );
}

function Card({ trace, onOpen }: { trace: Trace; onOpen: (name: string) => void }) {
  const numbers = [
    trace.jobs !== null && formatCount(trace.jobs, "job"),
    trace.gpus !== null && formatCount(trace.gpus, "GPU"),
    formatCount(trace.row_count, "row"),
  ];
  return (
    <article class={trace.row_count ? "" : "empty"}>
      <h2><button type="button" class="link" onClick={() => onOpen(trace.name)}>{trace.name}</button></h2>
      <p>{trace.title}</p>
      <p class="numbers">{trace.row_count ? numbers.filter(Boolean).join(" · ") : "no data here"}{trace.synthetic && <span class="badge bad">synthetic</span>}</p>
      <p class="small">{[trace.publisher, yearOf(trace), trace.licence].filter(Boolean).join(" · ")}</p>
      <details>
        <summary>Cite</summary>
        <p class="small">{trace.citation}</p>
      </details>
    </article>
  );
}

/** The year of the publication is the last in its citation. */
function yearOf({ citation }: Trace): string {
  const year = citation.match(/\b20\d\d\b/g)?.at(-1);
  return year ? `published ${year}` : "";
}

/** The use of a site without a network, and without a browser. */
function Elsewhere({ engine, catalog }: { engine: Engine; catalog: Catalog }) {
  const [status, setStatus] = useState("");
  const keep = (): void => {
    setStatus("Loading…");
    engine.keep!((share) => setStatus(`Loading… ${Math.round(100 * share)} %`)).then(
      () => setStatus("Everything is available offline."),
      (error: Error) => setStatus(error.message),
    );
  };
  const command = `duckdb -c "attach '${addressOf(catalog)}${catalog.database?.split("?")[0]}' as traces (read_only); use traces; from catalog.contents"`;
  return (
    <section>
      <h2>Elsewhere</h2>
      <p>Pages and answers that were loaded are available offline. {engine.keep && <button type="button" onClick={keep}>Load everything</button>} <span role="status">{status}</span></p>
      {catalog.left_out && catalog.left_out.length > 0 && (
        <details>
          <summary>Not on this site: {formatCount(catalog.left_out.length, "object")}</summary>
          <ul>
            {catalog.left_out.map(({ name, reason }) => <li key={name}><code>{name}</code>: {reason}</li>)}
          </ul>
        </details>
      )}
      <p>The DuckDB shell opens the database of this site: <code>{command}</code> <Copy label="command" text={command} /></p>
    </section>
  );
}

function List({ title, entries, catalog }: { title: string; entries: Entry[]; catalog: Catalog }) {
  if (entries.length === 0) return null;
  return (
    <section>
      <h2>{title} <span class="small">{formatCell(entries.length)}</span></h2>
      <ul class="entries">
        {entries.map(({ name, title: about, data, has_chart }) => (
          <li key={name}>
            <a href={objectHash(catalog, name)}>{about || name}</a> <code>{name}</code>
            {has_chart && <span class="badge">chart</span>}
            {data !== "all" && <span class="badge">{data === "none" ? "no data" : "some data"}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
