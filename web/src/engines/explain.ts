// Errors of DuckDB with the closest names of the site, as in engines/duckdb/read/sql_errors.py.

import type { Catalog, Description } from "../contract";
import { findColumns, search, similarNames } from "../search";

const COLUMN = /Referenced column "(.+?)" not found in FROM clause!|(?:Values list|Table) ".*?" does not have a column named "(.+?)"/;
const TABLE = /Table with name "?([\w.]+)"? does not exist/;
const FUNCTION = /Function with name (\w+) does not exist!/;
const MOST = 3;

/** The text of an error of a statement. `reads` are the tables, views and queries that the statement names. */
export function explainError(catalog: Catalog, statement: string, error: string, reads: Description[]): string {
  const [said = "", ...place] = error.split("\n\n");
  const text = explainColumn(catalog, said, reads) ?? explainTable(catalog, said, statement) ?? explainFunction(catalog, said);
  return text ? [text, ...place].join("\n\n") : error;
}

function explainColumn(catalog: Catalog, said: string, reads: Description[]): string | undefined {
  const [, first, second] = said.match(COLUMN) ?? [];
  const name = first ?? second;
  if (!name || reads.length === 0) return undefined;
  const columns = reads.flatMap((read) => read.columns);
  // A candidate may be a column of a subquery, which no description has.
  const candidates = quoted(said.split("Candidate bindings:")[1]);
  const similar = similarNames(name, [...candidates, ...columns.map(({ column }) => column)], 0.7);
  return `No column "${name}" in ${reads.map((read) => read.name).join(", ")}.${listMatches([...similar, ...findColumns(catalog, name, columns)])}`;
}

function explainTable(catalog: Catalog, said: string, statement: string): string | undefined {
  const [, name] = said.toLowerCase().match(new RegExp(TABLE, "i")) ?? [];
  if (!name) return undefined;
  const full = statement.toLowerCase().match(/\w+(\.\w+)+/g)?.find((word) => word.endsWith(`.${name}`)) ?? name;
  if (catalog.objects.some((known) => known.name === full && known.kind === "query")) return `${full} is a query: write ${full}() with parentheses`;
  return `No table or view "${full}".${closeMatches({ ...catalog, objects: catalog.objects.filter(({ kind }) => kind !== "query") }, full)}`;
}

function explainFunction(catalog: Catalog, said: string): string | undefined {
  const [, name] = said.match(FUNCTION) ?? [];
  if (!name) return undefined;
  const queries = catalog.objects.filter(({ kind }) => kind === "query").map((known) => known.name);
  return `No function "${name}".${listMatches(similarNames(name, [...queries, ...quoted(said.split("Did you mean")[1])], 0.7))}`;
}

/** A sentence with the objects whose names are similar, or else have the same words; or an empty text. */
export function closeMatches(catalog: Catalog, name: string): string {
  const names = catalog.objects.map((known) => known.name);
  const similar = similarNames(name, names, 0.8);
  if (similar.length > 0) return listMatches(similar);
  return listMatches([...search(catalog, name).map((known) => known.name), ...similarNames(name, names, 0.6)]);
}

const quoted = (text = ""): string[] => [...text.matchAll(/"([^"]+)"/g)].map(([, name]) => name!);

function listMatches(names: string[]): string {
  const listed = [...new Set(names)].slice(0, MOST);
  return listed.length > 0 ? ` Close matches: ${listed.join(", ")}.` : "";
}
