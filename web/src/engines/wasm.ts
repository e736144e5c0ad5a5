// The engine of a static site: DuckDB in a worker of this page, over the published database file.

import * as duckdb from "@duckdb/duckdb-wasm";
import { NOT_COUNTED, type Answer, type Cell, type Column, type Description, type Drawing, type Engine, type Note, type Query } from "../contract";
import { isInteger, quote, toSql } from "../sql";
import { closeMatches, explainError } from "./explain";
import { fillTemplate, type Template } from "./template";
import { fetchCompressed, fetchDescription, fetchFigures, fetchJson, isCompressed, type Listing } from "./files";
import { keepFiles, keepSite } from "./offline";

const MOST_ROWS = 10_000;
const MOST_CHOICES = 1000;
// The numbers, texts and booleans that JavaScript has; DuckDB writes all other values as texts.
const PLAIN = /^(U?(TINYINT|SMALLINT|INTEGER|BIGINT)|FLOAT|DOUBLE|VARCHAR|BOOLEAN)$/;

// Where a function needs an extension, DuckDB-WASM tries to load it and then fails in this way.
const CRASH = /out of bounds|unreachable|is not loaded|null function|signature mismatch/;
const NO_RANGES = "This web server has no HTTP ranges, so that large tables are fetched whole. These have: npx http-server SITE, or pip install rangehttpserver and python -m RangeHTTPServer in the folder of the site.";
const NOT_LOADED = "not in this warehouse";
const APPROXIMATE = "Approximate: the caveats and sources of all tables, views and queries that the statement names, whichever columns it reads. Of the traces that it does not count, those that are not loaded.";
const UNSUPPORTED = "DuckDB in the browser cannot run this: it lacks extensions, such as ICU for time zones";

interface Published extends Description {
  /** The path of the stored answer to the default parameters. */
  answer?: string;
  /** Why the query has no parameters here. */
  fixed?: string;
  /** The path of the chart's template. */
  chart?: string;
  no_chart?: string;
  /** Why each trace is not counted if the answer does not name it. */
  not_counted: Record<string, string>;
}

interface Rows {
  columns: Column[];
  rows: Cell[][];
}

interface Session {
  /** Bytes that were fetched of compressed parts, and of all parts when they were counted last. */
  compressed: number;
  fetched: number;
  attached: Set<string>;
  /** Whether the server sent a large part as a whole. */
  isWhole: boolean;
  parts: Record<string, string>;
  worker: Worker;
  database: duckdb.AsyncDuckDB;
  connection: duckdb.AsyncDuckDBConnection;
}

export function openWasm(listing: Listing): Engine {
  const offline = keepFiles(listing);
  let session: Promise<Session> | undefined;
  let queue: Promise<unknown> = Promise.resolve();
  let ended = 0;
  const described = new Map<string, Promise<Published>>();
  const stored = new Map<string, Promise<Rows>>();
  const charts = new Map<string, Promise<Template>>();

  const open = (): Promise<Session> => {
    session ??= offline.then(() => connect(listing));
    session.catch(() => (session = undefined));
    return session;
  };
  // DuckDB-WASM takes seconds to compile.
  requestIdleCallback(() => void open().catch(() => undefined));

  const describe = (name: string): Promise<Published> => 
    once(described, name, () =>
      fetchDescription<Published>(name).catch((error: Error) => {
        const isKnown = listing.objects.some((known) => known.name === name);
        throw isKnown ? error : new Error(`${error.message}${closeMatches(listing, name)}`);
      }),
    );

  const close = (opened: Session): void => {
    opened.worker.terminate();
    session = undefined;
    ended += opened.fetched;
  };

  /** Runs one piece of work at a time. An abort ends the worker, because DuckDB may not react. */
  const schedule = <T>(work: (session: Session) => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const result = queue.then(async () => {
      signal?.throwIfAborted();
      const opened = await open();
      signal?.throwIfAborted();
      return new Promise<T>((resolve, reject) => {
        const abort = (): void => {
          close(opened);
          reject(signal?.reason);
        };
        const fail = (error: Error): void => {
          if (CRASH.test(error.message)) close(opened);
          reject(CRASH.test(error.message) ? new Error(`${UNSUPPORTED} (${error.message})`) : error);
        };
        signal?.addEventListener("abort", abort);
        void work(opened)
          .then(resolve, fail)
          .finally(() => signal?.removeEventListener("abort", abort));
      });
    });
    queue = result.catch(() => undefined);
    return result;
  };

  const bind = async (query: Query): Promise<void> => {
    if (query.statement) return;
    const { parameters, fixed } = await describe(query.name);
    for (const [name, text] of Object.entries(query.given)) {
      const parameter = parameters.find((known) => known.name === name);
      if (!parameter) throw new Error(fixed ? `${query.name} takes no parameters: ${fixed}` : `${query.name} has no parameter ${name}`);
      const { type, choices, at_least, at_most, is_list } = parameter;
      const expected = at_least === null ? choices.slice(0, 20).join(" or ") || `of type ${type}` : `from ${at_least} to ${at_most}`;
      const fail = (): never => {
        throw new Error(`${query.name}: ${name} must be ${expected}, not '${text}'`);
      };
      const values = is_list ? text.split(",").map((value) => value.trim()) : [text];
      if (choices.length && choices.length < MOST_CHOICES && !values.every((value) => choices.includes(value))) fail();
      // A cast would round 1.5 to 2.
      if (isInteger(type) && !/^[+-]?\d+(\.0+)?$/.test(text)) fail();
      const value = `try_cast(${quote(text)} as ${type})`;
      const range = at_least === null ? "true" : `${value} between cast(${quote(at_least)} as ${type}) and cast(${quote(at_most ?? "")} as ${type})`;
      const isValid = await schedule((opened) => readRows(opened, `select coalesce(${value} is not null and ${range}, false) as is_valid`));
      if (!isValid.rows[0]?.[0]) fail();
    }
  };

  /** All rows of a query from a stored answer, which needs no DuckDB. */
  const findStored = async (query: Query): Promise<Rows | undefined> => {
    if (query.statement || Object.keys(query.given).length > 0) return undefined;
    const { answer: path } = await describe(query.name);
    // DuckDB computes it where the file cannot be fetched.
    return path === undefined ? undefined : once(stored, path, () => fetchJson<Rows>(path, {}, ["columns", "rows"])).catch(() => undefined);
  };

  const answer = async (query: Query, signal: AbortSignal, limit?: number): Promise<Rows> => {
    const sql = await sqlOf(query);
    return (await findStored(query)) ?? schedule((opened) => readRows(opened, sql, limit), signal).catch((error: Error) => explain(query, error));
  };

  /** Throws the error with close matches, or says that the site does not have what the statement names. */
  const explain = async ({ statement }: Query, error: Error): Promise<never> => {
    if (!statement) throw error;
    const words = error.message.includes("does not exist") ? statement.match(/[\w.]+/g) ?? [] : [];
    const missing = listing.left_out?.find(({ name }) => words.some((word) => word === name || word.startsWith(`${name}.`)));
    throw missing ? new Error(`This site does not have ${missing.name}: ${missing.reason}. (${error.message})`) : new Error(explainError(listing, statement, error.message, await namedIn(statement)));
  };

  /** The answer to the default parameters is a table of the same name, unless it is large. */
  const sqlOf = async (query: Query): Promise<string> => {
    if (query.statement) return query.statement;
    const { kind, parameters } = await describe(query.name);
    const isTable = kind !== "query" || (Object.keys(query.given).length === 0 && query.name in listing.parts);
    return toSql(query, isTable ? undefined : parameters);
  };

  const namedIn = async (statement: string): Promise<Published[]> => {
    const names = new Set(listing.objects.map((found) => found.name));
    const words = new Set(statement.toLowerCase().match(/[a-z]\w*\.[a-z]\w*/g) ?? []);
    return Promise.all([...words].filter((word) => names.has(word)).map(describe));
  };

  return {
    ...("serviceWorker" in navigator && { keep: (report) => open().then(() => keepSite(listing, report)) }),
    list: async () => listing,
    describe,
    verify: fetchFigures,
    bind,
    run: async (query, signal): Promise<Answer> => {
      const reads = await (query.statement ? namedIn(query.statement) : Promise.all([describe(query.name)]));
      const { columns, rows } = await answer(query, signal, MOST_ROWS + 1);
      return {
        columns,
        rows: rows.slice(0, MOST_ROWS),
        is_cut: rows.length > MOST_ROWS,
        notes: [
          ...selectNotes(reads.flatMap((read) => read.notes), columns, rows).filter(({ name }) => query.statement || name !== NOT_COUNTED),
          ...(query.statement ? [] : reads.flatMap((read) => notCounted(read, query, columns, rows))),
        ],
        ...(query.statement && { approximate: APPROXIMATE }),
        sources: uniqueBy(reads.flatMap((read) => read.sources), (source) => source.table_name + source.file + source.member),
      };
    },
    draw: async (query, signal): Promise<Drawing> => {
      const { chart, no_chart } = await describe(query.name);
      if (!chart) return { no_chart: no_chart ?? `${query.name} has no chart` };
      const template = await once(charts, chart, () => fetchJson<Template>(chart, {}, ["spec", "sql"]));
      if (Object.keys(query.given).length === 0 && template.spec.data.values.length > 0) return { spec: template.spec, narrow: template.narrow };
      const given = template.with ? { [template.with]: "true", ...query.given } : query.given;
      const source = await sqlOf({ ...query, given });
      const sql = `with answer as (${source}) ${template.sql}`;
      const { columns, rows } = await schedule((opened) => readRows(opened, sql), signal);
      const isEmpty = rows.length === 0 && (await schedule((opened) => readRows(opened, source, 1), signal)).rows.length === 0;
      return fillTemplate(template, query.given, columns, rows, isEmpty);
    },
    export: async (query, format) => {
      const sql = await sqlOf(query);
      if (format === "parquet") {
        const { toStored, writeParquet } = await import("./parquet");
        return new Blob([writeParquet(await schedule((opened) => readRows(opened, sql, undefined, toStored)))]);
      }
      const content = await schedule(async (opened) => {
        const { database } = opened;
        await runAround(opened, "copy (", sql, ") to 'answer.csv' (header)");
        const buffer = await database.copyFileToBuffer("answer.csv");
        await database.dropFile("answer.csv");
        return buffer;
      });
      return new Blob([content as BlobPart], { type: "text/csv" });
    },
    loaded: async () => {
      if (!session) return "";
      const opened = await session;
      opened.fetched = opened.compressed + (await countFetched(opened.worker));
      return `${megabytes(ended + opened.fetched)} of ${megabytes(listing.bytes)} of the data${opened.isWhole ? `. ${NO_RANGES}` : ""}`;
    },
  };
}

// The part with the catalog, the macros and the views of all other parts.
const MAIN = "traces";

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

async function connect(listing: Listing): Promise<Session> {
  const address = (path: string): string => new URL(path, document.baseURI).href;
  const version = `?${duckdb.PACKAGE_VERSION}`;
  const worker = new Worker(address(`worker.js${version}`));
  const database = new duckdb.AsyncDuckDB(new duckdb.VoidLogger(), worker);
  // If the worker cannot start, DuckDB-WASM waits for its answers without end.
  const noWorker = new Promise<never>((_, reject) =>
    worker.addEventListener("error", ({ message }) => reject(new Error(message || "its worker cannot start")), { once: true }),
  );
  const load = <T>(file: string, work: Promise<T>): Promise<T> =>
    work.catch((error: Error) => {
      worker.terminate();
      throw new Error(`Cannot load ${file} of this site (${error.message}). Reload the page. If it fails again, publish the site again.`);
    });
  const { content } = await load("DuckDB", fetchCompressed(`duckdb/duckdb-eh.bin${version}`));
  const program = URL.createObjectURL(new Blob([content], { type: "application/wasm" }));
  await load("DuckDB", Promise.race([noWorker, database.instantiate(program)])).finally(() => URL.revokeObjectURL(program));
  await database.open({ filesystem: { reliableHeadRequests: true, allowFullHTTPReads: true, forceFullHTTPReads: false } });
  const connection = await database.connect();
  // Extensions would be loaded from another origin.
  await connection.query("set autoinstall_known_extensions = false; set autoload_known_extensions = false");
  const session = { worker, database, connection, compressed: 0, fetched: 0, attached: new Set<string>(), isWhole: false, parts: listing.parts };
  await load("the database", attachPart(session, MAIN));
  await connection.query(`use ${MAIN}`);
  return session;
}

/** Attaches a part of the database under its name. */
async function attachPart(session: Session, name: string): Promise<void> {
  const path = session.parts[name] ?? "";
  const file = `${name}.duckdb`;
  try {
    if (isCompressed(path)) {
      const { content, size } = await fetchCompressed(path);
      session.compressed += size;
      await session.database.registerFileBuffer(file, new Uint8Array(content));
    } else {
      session.isWhole ||= !(await hasRanges(path));
      await session.database.registerFileURL(file, new URL(path, document.baseURI).href, duckdb.DuckDBDataProtocol.HTTP, false);
    }
    await session.connection.query(`attach '${file}' as "${name}" (read_only)`);
  } catch (error) {
    throw new Error(`${path.split("?")[0]}: ${(error as Error).message}${isCompressed(path) || !session.isWhole ? "" : `. ${NO_RANGES}`}`);
  }
  session.attached.add(name);
}

/** Whether the server sends a part of a file. */
async function hasRanges(path: string): Promise<boolean> {
  const { status, body } = await fetch(path, { headers: { Range: "bytes=0-0" }, cache: "no-store" });
  await body?.cancel();
  return status === 206;
}

/** Runs SQL. Attaches the parts that it reads: an error names the database of a part that is not attached. */
async function runSql(session: Session, sql: string): ReturnType<duckdb.AsyncDuckDBConnection["query"]> {
  for (;;) {
    try {
      return await session.connection.query(sql);
    } catch (error) {
      const name = (error as Error).message.match(/[\w.]+/g)?.find((word) => word in session.parts && !session.attached.has(word));
      if (!name) throw error;
      await attachPart(session, name);
    }
  }
}

/** Runs SQL with a statement of the reader on lines of its own, so that an error shows only these. */
async function runAround(session: Session, before: string, statement: string, after: string): ReturnType<typeof runSql> {
  try {
    return await runSql(session, `${before}\n${statement}\n${after}`);
  } catch (error) {
    const { message } = error as Error;
    const line = Number(message.match(/\nLINE (\d+): /)?.[1] ?? 0) - 1;
    if (line > statement.split("\n").length) throw new Error("Parser Error: the statement is not complete");
    // Of the same width, because of the mark in the line below.
    const numbered = message.replace(/(?<=\nLINE )\d+:/, (number) => `${line}:`.padEnd(number.length));
    // DuckDB-WASM repeats the place of an error of the parser.
    throw line < 1 ? error : new Error(numbered.split(/(?<=\^)\s+LINE /)[0]);
  }
}

/** The bytes that the worker fetched of parts that are not compressed. */
function countFetched(worker: Worker): Promise<number> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
    worker.postMessage({ fetchedTo: port2 }, [port2]);
  });
}

/** Runs a query as a subquery, so that it can only read. */
async function readRows(
  session: Session,
  sql: string,
  limit?: number,
  convert = toPlain,
): Promise<Rows> {
  const described = await runAround(session, "describe from (", sql, ")");
  const columns: Column[] = described.toArray().map((row) => ({ name: row.column_name, type: row.column_type }));
  const values = columns.map(({ type }, place) => `${convert(type, `c${place}`)} as c${place}`);
  const places = columns.map((_, place) => `c${place}`);
  const limited = limit === undefined ? "" : ` limit ${limit}`;
  const found = await runAround(session, `select ${values} from (`, sql, `) as answer(${places})${limited}`);
  const vectors = columns.map((_, place) => found.getChildAt(place));
  const rows = Array.from({ length: found.numRows }, (_, row) => vectors.map((vector) => toCell(vector?.get(row))));
  return { columns, rows };
}

const toPlain = (type: string, column: string): string => (PLAIN.test(type) ? column : `cast(${column} as varchar)`);

function toCell(value: unknown): Cell {
  if (value === undefined || value === null) return null;
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value).replace("Infinity", "inf").replace("NaN", "nan");
  return value as Cell;
}

/** Leaves out the caveats of traces that the answer does not name. */
function selectNotes(notes: Note[], columns: Column[], rows: Cell[][]): Note[] {
  const place = columns.findIndex((column) => column.name === "trace");
  const traces = new Set(rows.map((row) => row[place]));
  const isOfAnswer = ({ name, word, severity }: Note): boolean =>
    place < 0 || word !== "caveat" || !severity || traces.has(name.split(".")[0] ?? "");
  return uniqueBy(notes.filter(isOfAnswer), (note) => note.name);
}

/** As `as_notes` in engines/duckdb/read/membership.py: the traces that an answer does not count, in groups by reason. */
function notCounted({ not_counted, parameters }: Published, { given }: Query, columns: Column[], rows: Cell[][]): Note[] {
  const place = columns.findIndex((column) => column.name === "trace");
  if (place < 0 || rows.length > MOST_ROWS) return [];
  const counted = new Set(rows.map((row) => row[place]));
  const listed = parameters.find(({ is_list }) => is_list);
  const chosen = given[listed?.name ?? ""]?.split(",").map((name) => name.trim());
  const groups = new Map<string, string[]>();
  for (const [trace, reason] of Object.entries(not_counted))
    if (!counted.has(trace) && (chosen?.includes(trace) ?? true)) groups.set(reason, [...(groups.get(reason) ?? []), trace]);
  const ordered = [...groups].sort(([one], [other]) => Number(one === NOT_LOADED) - Number(other === NOT_LOADED));
  const text = ordered.map(([reason, traces]) => `${traces.join(", ")} (${traces.length > 1 ? reason.replace("records no", "record no") : reason})`).join(", ");
  return text ? [{ name: NOT_COUNTED, text, word: "Not counted", severity: "", summary: "" }] : [];
}

/** The result of some work, which is kept unless it fails. */
function once<T>(kept: Map<string, Promise<T>>, key: string, work: () => Promise<T>): Promise<T> {
  const found = kept.get(key) ?? work();
  kept.set(key, found);
  found.catch(() => kept.delete(key));
  return found;
}

function uniqueBy<T>(values: T[], key: (value: T) => string): T[] {
  return [...new Map(values.map((value) => [key(value), value])).values()];
}
