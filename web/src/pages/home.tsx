import { useMemo, useState } from "preact/hooks";
import type { Catalog, Engine, Entry, PageProps, Trace } from "../contract";
import { formatCell, formatCount } from "../format";
import { Chart } from "../parts/chart";
import { Gallery } from "../parts/gallery";
import { objectHash } from "../parts/links";
import { useWork } from "../parts/use";
import { toHash } from "../route";
import { search } from "../search";

const FEATURED = "unified.run_cdf";
const KINDS = { query: "Queries", view: "Views", table: "Base tables" };

export function HomePage({ engine, catalog, words }: PageProps & { words: string }) {
  const [text, setText] = useState(words);
  const [trace, setTrace] = useState("");
  const found = useMemo(() => search(catalog, text), [catalog, text]);
  const listed = found.filter(({ name }) => !trace || name.startsWith(`${trace}.`));
  const schemas = [...new Set(catalog.objects.map(({ name }) => name.split(".")[0] ?? ""))].sort();
  const isStart = !text && !trace;
  const charts = listed.filter(({ has_chart, data }) => has_chart && data !== "none");
  // Those over all traces first, unless the search has ranked them.
  if (isStart) charts.sort((left, right) => Number(right.name.startsWith("unified.")) - Number(left.name.startsWith("unified.")));
  const [stored, missing] = [true, false].map((isStored) => catalog.traces.filter(({ row_count }) => row_count > 0 === isStored));
  return (
    <>
      <h1>Public traces of GPU clusters, as tables you can query</h1>
      <p class="lead">
        Run times, waits, failures, utilisation and inference requests of {catalog.traces.length} published traces, in one format.
        Each answer says where its numbers come from and what can mislead. <a href={toHash("verify")}>Published figures are recomputed here.</a>
      </p>
      <form role="search" onSubmit={(event) => event.preventDefault()}>
        <div class="field wide">
          <label for="search">Search titles, meanings and columns</label>
          <input id="search" type="search" placeholder="queueing delay, jct, failures…" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </div>
        <div class="field">
          <label for="trace">Trace</label>
          <select id="trace" value={trace} onChange={(event) => setTrace(event.currentTarget.value)}>
            <option value="">all</option>
            {schemas.map((schema) => <option key={schema}>{schema}</option>)}
          </select>
        </div>
      </form>
      {isStart && (
        <>
          <Featured engine={engine} catalog={catalog} />
          <section>
            <h2>Traces</h2>
            <div class="cards">{stored!.map((one) => <Card key={one.name} trace={one} onOpen={setTrace} />)}</div>
            {missing!.length > 0 && (
              <details>
                <summary>{formatCount(missing!.length, "trace")} without data here</summary>
                <div class="cards">{missing!.map((one) => <Card key={one.name} trace={one} onOpen={setTrace} />)}</div>
              </details>
            )}
          </section>
        </>
      )}
      <Gallery key={text + trace} engine={engine} entries={charts} />
      {listed.length === 0 && <p role="status">Nothing matches “{text}”. Try fewer or other words.</p>}
      {(Object.keys(KINDS) as Entry["kind"][]).map((kind) => <List key={kind} isFolded={isStart} title={KINDS[kind]} entries={listed.filter((entry) => entry.kind === kind)} catalog={catalog} />)}
      {catalog.parts && <Elsewhere engine={engine} catalog={catalog} />}
    </>
  );
}

/** The chart of a query over all traces. */
function Featured({ engine, catalog }: { engine: Engine; catalog: Catalog }) {
  const entry = catalog.objects.find(({ name, data }) => name === FEATURED && data !== "none");
  const { value } = useWork(async (signal) => entry && engine.draw({ name: FEATURED, given: {}, statement: "" }, signal), []);
  if (!entry || value?.no_chart) return null;
  return (
    <section class="featured">
      <h2><a href={toHash("query", FEATURED)}>{entry.title}</a></h2>
      {value ? <Chart name={FEATURED} drawing={value} isPlain /> : <p class="small" role="status">Drawing…</p>}
    </section>
  );
}

function Card({ trace, onOpen }: { trace: Trace; onOpen: (name: string) => void }) {
  return (
    <article class={trace.row_count ? "" : "empty"}>
      <h2><button type="button" class="link" onClick={() => onOpen(trace.name)}>{trace.name}</button></h2>
      <p>{trace.title}</p>
      <p class="numbers">{describeSize(trace)}{trace.synthetic && <span class="badge warn">synthetic</span>}</p>
      <p class="small">{[trace.publisher, yearOf(trace), trace.licence].filter(Boolean).join(" · ")}</p>
      <details>
        <summary>Cite</summary>
        <p class="small">{trace.citation}</p>
      </details>
    </article>
  );
}

/** What the warehouse has of a trace, in words. The size of a cluster is known without its jobs. */
function describeSize({ jobs, gpus, row_count, table_count }: Trace): string {
  if (!row_count) return "No data here.";
  const cluster = gpus === null ? "" : formatCount(gpus, "GPU");
  const rows = `${formatCount(row_count, "row")} in ${formatCount(table_count, "table")}`;
  if (jobs !== null) return `${formatCount(jobs, "job")}${cluster && ` on ${cluster}`}; ${rows}.`;
  return cluster ? `The cluster has ${cluster}. No jobs here; ${rows}.` : `${rows}.`;
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
    </section>
  );
}

function List({ title, entries, catalog, isFolded }: { title: string; entries: Entry[]; catalog: Catalog; isFolded: boolean }) {
  if (entries.length === 0) return null;
  return (
    <section>
      <h2>{title} <span class="small">{formatCell(entries.length)}</span></h2>
      <details open={!isFolded}>
        <summary class={isFolded ? "" : "hidden"}>Show the {title.toLowerCase()}</summary>
        <ul class="entries">
          {entries.map(({ name, title: about, data, has_chart }) => (
            <li key={name}>
              <a href={objectHash(catalog, name)}>{about || name}</a> <code>{name}</code>
              {has_chart && <span class="badge">chart</span>}
              {data !== "all" && <span class="badge">{data === "none" ? "no data" : "some data"}</span>}
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}
