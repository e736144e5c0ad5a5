// Chart templates: see publish/plot/pictures.py.

import type { Cell, Column, Drawing, Texts } from "../contract";

export interface Template {
  /** The picture of the answer to the default parameters, without rows if there are many. */
  spec: Record<string, unknown> & { data: { values: unknown[] } };
  /** The same for a phone, always without rows. */
  narrow: Record<string, unknown>;
  /** Selects the rows to draw from the relation `answer`. */
  sql: string;
  /** The parameter that the chart sets. */
  with: string;
  lines: string[];
  defaults: Texts;
}

type Json = unknown[] | Record<string, unknown>;

const PARAMETERS = "{parameters}";

/** Puts rows to draw into a template, and adapts it to parameters that differ from the defaults. */
export function fillTemplate(template: Template, given: Texts, columns: Column[], rows: Cell[][]): Drawing {
  if (rows.length === 0) return { no_chart: "nothing to plot, the answer has no rows" };
  const values = rows.map((row) =>
    Object.fromEntries(columns.map(({ name }, place) => [name, row[place] ?? null])),
  );
  const { spec, narrow } = structuredClone(template);
  spec.data = { values };
  for (const picture of Object.keys(given).length > 0 ? [spec, narrow] : []) {
    adaptScales(picture, values);
    setSubtitle(picture, template, given);
  }
  return { spec, narrow };
}

/** Sets the names on scales and in orders to those of the answer, and lets Vega choose the ticks. */
function adaptScales(spec: Json, values: Record<string, Cell>[]): void {
  for (const part of Object.values(spec)) if (isJson(part)) adaptScales(part, values);
  if (Array.isArray(spec) || typeof spec.field !== "string") return;
  const field = spec.field;
  const names = [...new Set(values.map((row) => String(row[field] ?? "NULL")))];
  const merge = (known: unknown): unknown[] | undefined => {
    if (!Array.isArray(known) || typeof known[0] !== "string") return undefined;
    const kept = known.filter((name) => names.includes(name));
    // Names that are calculated from the values, such as days of the week, stay.
    return kept.length === 0 ? known : [...kept, ...names.filter((name) => !kept.includes(name))];
  };
  const { scale, axis } = spec as { scale?: Record<string, unknown>; axis?: Record<string, unknown> };
  const domain = merge(scale?.domain);
  if (scale && domain) scale.domain = domain;
  const sort = merge(spec.sort);
  if (sort) spec.sort = sort;
  if (axis && (scale?.type === "log" || scale?.type === "symlog")) delete axis.values;
}

function setSubtitle(spec: Record<string, unknown>, template: Template, given: Texts): void {
  const [view] = spec.vconcat as { title: { subtitle?: string[] } }[];
  const parameters = Object.entries({ ...template.defaults, ...given }).map(([name, text]) => `${name} = ${text}`);
  const lines = template.lines.map((line) => (line === PARAMETERS ? parameters.join(", ") : line));
  if (view) view.title.subtitle = lines.filter(Boolean);
}

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null;
