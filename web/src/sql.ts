// SQL of a query, as the reader copies it and as DuckDB runs it in the browser.

import type { Parameter, Query } from "./contract";

const NUMBERS = /^(U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL.*)$/;

export const isNumber = (type: string): boolean => NUMBERS.test(type);
export const isInteger = (type: string): boolean => /INT/.test(type);

export const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;

function literal(type: string, text: string): string {
  const isPlain = type === "BOOLEAN" ? /^(true|false)$/ : isNumber(type) ? /^[+-]?\d+(\.\d+)?$/ : /^$/;
  if (isPlain.test(text)) return text;
  return type === "VARCHAR" ? quote(text) : `cast(${quote(text)} as ${type})`;
}

/** SQL of a query. A table or view has no parameters, not even an empty list. */
export function toSql(query: Query, parameters: Parameter[] | undefined): string {
  if (query.statement) return query.statement;
  if (!parameters) return `from ${query.name}`;
  const types = new Map(parameters.map((parameter) => [parameter.name, parameter.type]));
  const values = Object.entries(query.given).map(
    ([name, text]) => `${name} := ${literal(types.get(name) ?? "VARCHAR", text)}`,
  );
  return `from ${query.name}(${values.join(", ")})`;
}

const shellQuote = (text: string): string => (/^[\w.=:+-]*$/.test(text) ? text : quote(text).replaceAll("''", `'"'"'`));

export function toCommand(query: Query): string {
  if (query.statement) return `traces sql ${shellQuote(query.statement)}`;
  const options = Object.entries(query.given).map(([name, text]) => ` -p ${shellQuote(`${name}=${text}`)}`);
  return `traces query ${query.name}${options.join("")}`;
}

export function toPython(query: Query, parameters: Parameter[] = []): string {
  const open = 'with tracehouse.open("warehouse") as warehouse:\n    ';
  if (query.statement) return `${open}warehouse.sql(${JSON.stringify(query.statement)})`;
  const types = new Map(parameters.map((parameter) => [parameter.name, parameter.type]));
  const values = Object.entries(query.given).map(([name, text]) => `, ${name}=${python(types.get(name) ?? "", text)}`);
  return `${open}warehouse.query("${query.name}"${values.join("")})`;
}

function python(type: string, text: string): string {
  if (type === "BOOLEAN") return text === "true" ? "True" : "False";
  return isNumber(type) && /^[+-]?\d+(\.\d+)?$/.test(text) ? text : JSON.stringify(text);
}
