// What the pages need of an engine. `publish/site/contract.py` writes the same types as JSON.

export type Cell = string | number | boolean | null;
export type Texts = Record<string, string>;

export interface Trace {
  name: string;
  title: string;
  publisher: string;
  homepage: string;
  licence: string;
  citation: string;
  row_count: number;
  table_count: number;
  synthetic: boolean;
  jobs: number | null;
  gpus: number | null;
}

export interface LeftOut {
  name: string;
  reason: string;
}

export interface Entry {
  name: string;
  kind: "query" | "view" | "table";
  title: string;
  data: "all" | "some" | "none";
  has_chart: boolean;
  columns: string[];
  words: string[];
}

export interface Catalog {
  formats: string[];
  traces: Trace[];
  objects: Entry[];
  synonyms: string[];
  stop_words: string[];
  endings: string[];
  /** Where readers find the pages; empty where this address is the one. */
  address: string;
  /** Addresses of the parts of a site's database, by table. */
  parts?: Record<string, string>;
  /** What a site does not have, and why. */
  left_out?: LeftOut[];
}

export interface Parameter {
  name: string;
  meaning: string;
  type: string;
  default: string | null;
  choices: string[];
  at_least: string | null;
  at_most: string | null;
  values_of: string | null;
  /** Whether it takes several of these values, with commas. */
  is_list: boolean;
}

export interface ColumnMeaning {
  column: string;
  type: string;
  unit: string;
  provenance: string;
  meaning: string;
  lineage: string[];
}

/** The name of the note on the traces that an answer leaves out. */
export const NOT_COUNTED = "not counted";

export interface Note {
  name: string;
  text: string;
  word: string;
  severity: string;
  summary: string;
}

export interface Source {
  table_name: string;
  file: string;
  member: string;
  rows_kept: number;
  synthetic: boolean;
  sha256: string;
}

/** An object with what it reads. */
export interface LineageNode {
  name: string;
  kind: "query" | "view" | "table";
  reads: string[];
}

export interface Description {
  name: string;
  kind: "query" | "view" | "table";
  title: string;
  facts: Texts;
  parameters: Parameter[];
  columns: ColumnMeaning[];
  reads: string[];
  read_by: LineageNode[];
  /** The object and everything that it reads, directly or not. */
  upstream: LineageNode[];
  notes: Note[];
  sources: Source[];
  sql: string;
  has_chart: boolean;
  /** Why a site cannot run it. */
  left_out?: string;
}

/** A named query with parameters as texts, a table or view, or a SQL statement. */
export interface Query {
  name: string;
  given: Texts;
  statement: string;
}

export interface Column {
  name: string;
  type: string;
}

export interface Answer {
  columns: Column[];
  rows: Cell[][];
  is_cut: boolean;
  notes: Note[];
  /** How the caveats were selected, where that is less exact than by the columns that were read. */
  approximate?: string;
  sources: Source[];
}

/** Specifications in Vega-Lite, or the reason why there is none. */
export interface Drawing {
  spec?: object;
  /** The one for a phone, without the rows. */
  narrow?: object;
  no_chart?: string;
}

/** A figure that a document prints, and what the warehouse has. Its name begins with the name of the trace. */
export interface Figure {
  figure: string;
  statement: string;
  published: number;
  measured: number | null;
  unit: string;
  verdict: string;
  trust: string;
  printed_in: string;
  explanation: string;
}

/** Runs queries. Every method throws an Error whose message is for the reader; an abort cancels the query. */
export interface Engine {
  list(): Promise<Catalog>;
  describe(name: string): Promise<Description>;
  /** Checks the names and values of the parameters. */
  bind(query: Query): Promise<void>;
  run(query: Query, signal: AbortSignal): Promise<Answer>;
  draw(query: Query, signal: AbortSignal): Promise<Drawing>;
  export(query: Query, format: string): Promise<Blob>;
  verify(): Promise<Figure[]>;
  /** Stores everything for use without a network, and reports the share that is stored. */
  keep?(report: (share: number) => void): Promise<void>;
  /** How much was loaded to answer, empty where nothing is loaded. */
  loaded(): Promise<string>;
}

/** What every page gets. */
export interface PageProps {
  engine: Engine;
  catalog: Catalog;
}
