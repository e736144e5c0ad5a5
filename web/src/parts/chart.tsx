import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Result } from "vega-embed";
import type { Drawing } from "../contract";
import { saveBlob } from "../format";
import { addZoom, draw } from "./draw";

interface Props {
  name: string;
  drawing: Drawing;
}

/** A chart with tooltips, and its downloads. Vega is loaded with the first chart. */
export function Chart({ name, drawing }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [result, setResult] = useState<Result>();
  const [error, setError] = useState("");
  const zoomed = useMemo(() => drawing.spec && addZoom(drawing.spec), [drawing]);
  useEffect(() => {
    let isOver = false;
    let drawn: Result | undefined;
    const show = async (spec: object): Promise<void> => {
      drawn = await draw(box.current!, spec);
      if (isOver) drawn.finalize();
      else setResult(drawn);
    };
    const spec = zoomed ?? drawing.spec;
    if (spec && box.current) show(spec).catch((failure: Error) => setError(failure.message));
    return () => {
      isOver = true;
      drawn?.finalize();
    };
  }, [drawing]);
  if (!drawing.spec) return <p class="small">No chart: {drawing.no_chart}.</p>;
  if (error) return <p class="error" role="alert">Cannot draw the chart: {error}</p>;
  const savePng = async (): Promise<void> => {
    const canvas = await result!.view.toCanvas(3);
    canvas.toBlob((blob) => blob && saveBlob(blob, `${name}.png`));
  };
  const saveSvg = async (): Promise<void> =>
    saveBlob(new Blob([await result!.view.toSVG()], { type: "image/svg+xml" }), `${name}.svg`);
  return (
    <figure>
      <div class="chart" ref={box} role="img" aria-label={`Chart of ${name}; the table below has the numbers`} />
      {result && (
        <figcaption>
          <button type="button" onClick={savePng}>PNG</button> <button type="button" onClick={saveSvg}>SVG</button>
          {zoomed && <span class="small"> Ctrl and the wheel zoom, dragging moves, a double click resets.</span>}
        </figcaption>
      )}
    </figure>
  );
}
