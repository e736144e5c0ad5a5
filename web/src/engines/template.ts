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
  /** The lines of the subtitle, with `{parameters}` as one of them, and `{parameter}` for the value of one. */
  lines: string[];
  defaults: Texts;
  hidden: string[];
  /** Why an answer without rows, and without or with one row to draw, has no chart; `height` is the row's value. */
  refused: string[];
  height: string;
  /** The columns of each logarithmic axis, and its possible ticks, `fewest` of which it needs. */
  logs: Log[];
  fewest: number;
  /** A logarithmic axis of points or boxes ends at a tick if that is longer by this share at most. */
  near: number;
  /** The titles of the choices of each parameter that names an axis. */
  names: Record<string, Texts>;
  /** Matches numbers and bands of numbers, which are ordered by number. */
  band: string;
}

interface Log {
  columns: string[];
  choices: number[][];
}

type Json = unknown[] | Record<string, unknown>;

const PARAMETERS = "{parameters}";

/** Puts rows to draw into a template, and adapts it to parameters that differ from the defaults. */
export function fillTemplate(template: Template, given: Texts, columns: Column[], rows: Cell[][], isEmpty: boolean): Drawing {
  const values = rows.map((row) =>
    Object.fromEntries(columns.map(({ name }, place) => [name, row[place] ?? null])),
  );
  const refused = template.refused[isEmpty ? 0 : rows.length + 1];
  if (refused) return { no_chart: refused.replace("{value}", formatNumber(values[0]?.[template.height])) };
  const { spec, narrow } = nameAxes(template, given);
  spec.data = { values };
  for (const picture of Object.keys(given).length > 0 ? [spec, narrow] : []) {
    adaptScales(picture, template, values);
    setSubtitle(picture, template, given);
  }
  return { spec, narrow };
}

/** Pictures with the values of parameters in the titles of axes, in place of `{parameter}`. */
function nameAxes({ spec, narrow, names, defaults }: Template, given: Texts): Pick<Template, "spec" | "narrow"> {
  let text = JSON.stringify({ spec, narrow });
  for (const [parameter, titles] of Object.entries(names)) {
    const value = given[parameter] ?? defaults[parameter] ?? "";
    text = text.replaceAll(`{${parameter.replaceAll("_", " ")}}`, titles[value] ?? value);
  }
  return JSON.parse(text) as Pick<Template, "spec" | "narrow">;
}

/** A number in a text, as `number` in publish/plot/units.py. */
function formatNumber(value: Cell | undefined): string {
  const number = Number(value);
  return Math.abs(number) >= 1000 ? number.toLocaleString("en-US", { maximumFractionDigits: 0 }) : String(Number(number.toPrecision(3)));
}

/** Sets the names on scales and in orders, and the ticks of logarithmic axes, to those of the answer. */
function adaptScales(spec: Json, template: Template, values: Record<string, Cell>[]): void {
  for (const part of Object.values(spec)) if (isJson(part)) adaptScales(part, template, values);
  if (Array.isArray(spec) || typeof spec.field !== "string") return;
  const field = spec.field;
  const names = [...new Set(values.map((row) => String(row[field] ?? "NULL")))];
  const merge = (known: unknown): unknown[] | undefined => {
    if (!Array.isArray(known) || typeof known[0] !== "string") return undefined;
    const kept = known.filter((name) => names.includes(name));
    // Names that are calculated from the values, such as days of the week, stay.
    return kept.length === 0 ? known : sortBands([...kept, ...names.filter((name) => !kept.includes(name))] as string[], template.band);
  };
  const { scale, axis, legend } = spec as Record<"scale" | "axis" | "legend", Record<string, unknown> | undefined>;
  // A legend with values names those of a fixed domain that have rows.
  if (field === "trace" && scale?.domain) {
    if (legend?.values) legend.values = merge(legend.values);
  } else {
    const domain = merge(scale?.domain);
    if (scale && domain) scale.domain = domain;
  }
  const sort = merge(spec.sort);
  if (sort) spec.sort = sort;
  const log = template.logs.find(({ columns }) => columns.includes(field));
  if (scale && axis && log && (scale.type === "log" || scale.type === "symlog")) setLogScale(scale, axis, log, template, values);
}

/** Sorts names that are all numbers or bands of them, as `ordered_names` in publish/plot/rows.py. */
function sortBands(names: string[], pattern: string): string[] {
  const band = new RegExp(pattern);
  const starts = names.map((name): [string, number, number] => {
    const [, below, number] = band.exec(name) ?? [];
    const start = name === "NULL" ? Infinity : name === "no GPU" ? -Infinity : Number(number?.replaceAll(",", "") ?? NaN);
    return [name, start, below ? 0 : 1];
  });
  // A value that is not stated is the last in any order.
  if (starts.some(([, number]) => Number.isNaN(number))) return names.sort((one, other) => Number(one === "NULL") - Number(other === "NULL"));
  // Infinity minus itself is not a number: it counts as equal.
  return starts.sort((one, other) => one[1] - other[1] || one[2] - other[2]).map(([name]) => name);
}

/** As `_log_scale` in publish/plot/axes.py. */
function setLogScale(scale: Record<string, unknown>, axis: Record<string, unknown>, log: Log, { fewest, near }: Template, values: Record<string, Cell>[]): void {
  const numbers = values.flatMap((row) => log.columns.map((column) => row[column])).filter((value) => typeof value === "number");
  const low = numbers.reduce((one, other) => Math.min(one, other), Infinity);
  const high = numbers.reduce((one, other) => Math.max(one, other), -Infinity);
  const hasZero = low <= 0;
  const inside = log.choices.map((ticks) => ticks.filter((tick) => tick >= (hasZero ? 1 : low) && tick <= high));
  const most = inside.reduce((one, other) => (other.length > one.length ? other : one));
  const chosen = inside.find(({ length }) => length >= fewest) ?? most;
  const ticks = [...(hasZero ? [0] : []), ...chosen];
  if (scale.padding && Array.isArray(scale.domain)) {
    // As `add_near_ticks`.
    const all = log.choices[inside.indexOf(chosen)] ?? [];
    const factor = (high / (hasZero ? 1 : low)) ** near;
    const below = hasZero || ticks.includes(low) ? [] : all.filter((tick) => tick < low && tick >= low / factor);
    const above = ticks.includes(high) ? [] : all.filter((tick) => tick > high && tick <= high * factor);
    ticks.splice(0, 0, ...below.slice(-1));
    ticks.push(...above.slice(0, 1));
    scale.domain = [Math.min(low, ...ticks), Math.max(high, ...ticks)];
  } else if (Array.isArray(scale.domain)) {
    // Space for the labels of a Pareto front.
    scale.domain = [low * (low / high) ** 0.2, 1.05 * high];
  }
  // Vega chooses ticks if these are too few.
  if (ticks.length > 1) axis.values = ticks;
  else delete axis.values;
  Object.assign(scale, hasZero ? { type: "symlog", constant: 1 } : { type: "log" });
}

function setSubtitle(spec: Record<string, unknown>, template: Template, given: Texts): void {
  const [view] = spec.vconcat as { title: { subtitle?: string[] } }[];
  const values: Texts = { ...template.defaults, ...given };
  const shown = Object.entries(values).filter(([name]) => !template.hidden.includes(name));
  const parameters = shown.map(([name, text]) => `${name} = ${text}`);
  const fill = (line: string): string => line.replace(/{(\w+)}/g, (whole, name: string) => values[name] ?? whole);
  const lines = template.lines.map((line) => (line === PARAMETERS ? parameters.join(", ") : fill(line)));
  if (view) view.title.subtitle = lines.filter(Boolean);
}

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null;
