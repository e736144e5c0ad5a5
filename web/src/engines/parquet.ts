// Parquet files of answers. DuckDB-WASM would load an extension to write them.

import { parquetWriteBuffer } from "hyparquet-writer";
import type { Cell, Column } from "../contract";

type Rows = { columns: Column[]; rows: Cell[][] };
type Element = NonNullable<Parameters<typeof parquetWriteBuffer>[0]["schema"]>[number];
type Kind = Omit<Element, "name">;

const TEXT: Kind = { type: "BYTE_ARRAY", converted_type: "UTF8" };
const KINDS: Record<string, Kind> = {
  BOOLEAN: { type: "BOOLEAN" },
  TINYINT: { type: "INT32", converted_type: "INT_8" },
  SMALLINT: { type: "INT32", converted_type: "INT_16" },
  INTEGER: { type: "INT32" },
  BIGINT: { type: "INT64" },
  FLOAT: { type: "FLOAT" },
  DOUBLE: { type: "DOUBLE" },
  HUGEINT: { type: "DOUBLE" },
  DATE: { type: "INT32", converted_type: "DATE" },
  TIMESTAMP: { type: "INT64", logical_type: { type: "TIMESTAMP", isAdjustedToUTC: false, unit: "MICROS" } },
  "TIMESTAMP WITH TIME ZONE": { type: "INT64", logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" } },
};
const kindOf = (type: string): Kind => KINDS[type] ?? TEXT;

/** SQL that converts a column to what Parquet stores: a number, a boolean or a text. */
export function toStored(type: string, column: string): string {
  if (type.startsWith("TIMESTAMP") && type in KINDS) return `epoch_us(${column})`;
  if (type === "DATE") return `${column} - date '1970-01-01'`;
  if (type === "HUGEINT") return `cast(${column} as double)`;
  return type in KINDS ? column : `cast(${column} as varchar)`;
}

/** Writes rows whose cells `toStored` converted. */
export function writeParquet({ columns, rows }: Rows): ArrayBuffer {
  const kinds = columns.map(({ type }) => kindOf(type));
  return parquetWriteBuffer({
    columnData: columns.map(({ name }, place) => ({ name, data: rows.map((row) => toValue(kinds[place] ?? TEXT, row[place] ?? null)) })),
    schema: [
      { name: "root", num_children: columns.length },
      ...columns.map(({ name }, place) => ({ name, repetition_type: "OPTIONAL" as const, ...(kinds[place] ?? TEXT) })),
    ],
  });
}

function toValue({ type }: Kind, cell: Cell): unknown {
  if (cell === null) return null;
  if (type === "INT64") return BigInt(cell);
  // Infinity and NaN are texts.
  return type === "DOUBLE" || type === "FLOAT" ? Number(String(cell).replace("inf", "Infinity")) : cell;
}
