// Charts with Vega-Lite.

import type { Result } from "vega-embed";
import type { Drawing } from "../contract";

type View = Result["view"];
type Plot = { layer?: Plot[]; spec?: Plot; mark?: unknown; encoding?: Record<string, Encoding>; params?: unknown[]; data?: Data };
type Encoding = { type?: string };
type Data = { values?: unknown[] };
type Spec = { vconcat: (Plot & { title?: { subtitle?: unknown[]; [more: string]: unknown }; data?: Data })[]; data?: Data; title?: unknown };

// A narrower space, such as that of a phone, gets the narrow picture.
const LEAST_WIDTH = 500;
// A chart of fewer rows is short enough to see whole.
const LEAST_ROWS = 50;

export async function draw(box: HTMLElement, spec: object): Promise<Result> {
  const { default: embed } = await import("vega-embed");
  // The interpreter replaces generated code, which the content security policy forbids.
  const drawn = await embed(box, spec as never, {
    ast: true,
    actions: false,
    renderer: "svg",
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
    config: { mark: { tooltip: true }, background: "white" },
  });
  // For screen readers, the box has a label, and the rows are in a table.
  box.querySelector("svg")?.setAttribute("aria-hidden", "true");
  return drawn;
}

/** The chart with a zoom of its x axis, or undefined where its x axis has categories or few values. */
export function addZoom(spec: object): object | undefined {
  const zoomed = structuredClone(spec) as Spec;
  const [view] = zoomed.vconcat;
  const plot = view?.spec ?? view;
  const rows = (view?.data ?? zoomed.data)?.values ?? [];
  const layer = plot?.layer?.find(({ encoding }) => ["quantitative", "temporal"].includes(encoding?.x?.type ?? ""));
  if (!layer || rows.length < LEAST_ROWS) return undefined;
  const select = { type: "interval", encodings: ["x"], zoom: "wheel![event.ctrlKey]" };
  layer.params = [...(layer.params ?? []), { name: "zoom", select, bind: "scales" }];
  return zoomed;
}

/** The specification for a space of some width in pixels, or undefined if there is no chart. */
export function choosePicture({ spec, narrow }: Drawing, width: number): object | undefined {
  return spec && narrow && width < LEAST_WIDTH ? { ...narrow, data: (spec as Spec).data } : spec;
}

/** The chart for a page, which has its title, sources and caveats as text: with the subtitle only, or without. */
export function withoutTexts(spec: object, hasSubtitle: boolean): object {
  const { title: _footer, ...plain } = structuredClone(spec) as Spec;
  for (const view of plain.vconcat) {
    const { title } = view;
    delete view.title;
    if (hasSubtitle && title?.subtitle?.length) view.title = { text: title.subtitle, anchor: "start", frame: "bounds", fontSize: 11, fontWeight: "normal" };
  }
  return plain;
}

/** Draws outside of the page, and returns some form of the picture. */
export async function render<T>(spec: object, convert: (view: View) => Promise<T>): Promise<T> {
  const { view } = await draw(document.createElement("div"), spec);
  const found = await convert(view);
  view.finalize();
  return found;
}
