// Charts with Vega-Lite.

import type { Result } from "vega-embed";

type View = { layer?: View[]; spec?: View; mark?: unknown; encoding?: Record<string, Encoding>; params?: unknown[]; data?: Data };
type Encoding = { type?: string };
type Data = { values?: unknown[] };
type Spec = { vconcat: (View & { title?: unknown; data?: Data })[]; data?: Data; title?: unknown };

// A chart of fewer rows is short enough to see whole.
const LEAST_ROWS = 50;

export async function draw(box: HTMLElement, spec: object): Promise<Result> {
  const { default: embed } = await import("vega-embed");
  // The interpreter replaces generated code, which the content security policy forbids.
  return embed(box, spec as never, {
    ast: true,
    actions: false,
    renderer: "svg",
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
    config: { mark: { tooltip: true }, background: "white" },
  });
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

/** The chart as SVG without its titles. */
export async function drawThumbnail(spec: object): Promise<string> {
  const { title: _title, ...plain } = structuredClone(spec) as Spec;
  for (const view of plain.vconcat) delete view.title;
  const { view } = await draw(document.createElement("div"), plain);
  const svg = await view.toSVG();
  view.finalize();
  return svg;
}
