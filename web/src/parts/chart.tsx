import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Drawing } from "../contract";
import { saveBlob } from "../format";
import { addZoom, choosePicture, draw, render, withoutTexts } from "./draw";
import { Problem } from "./problem";

interface Props {
  name: string;
  drawing: Drawing;
  /** Without subtitle and downloads. */
  isPlain?: boolean;
}

/** A chart with tooltips, and its downloads. Vega is loaded with the first chart. */
export function Chart({ name, drawing, isPlain }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [isDrawn, setDrawn] = useState(false);
  const [error, setError] = useState("");
  // On a touch screen, dragging scrolls the page.
  const zoomed = useMemo(() => (drawing.spec && matchMedia("(pointer: fine)").matches ? addZoom(drawing.spec) : undefined), [drawing]);
  useEffect(() => {
    let isOver = false;
    let finish = (): void => undefined;
    const show = async (spec: object): Promise<void> => {
      const drawn = await draw(box.current!, withoutTexts(spec, !isPlain));
      if (isOver) drawn.finalize();
      else finish = drawn.finalize;
      setDrawn(!isOver);
    };
    const spec = box.current && choosePicture(zoomed ? { ...drawing, spec: zoomed } : drawing, box.current.clientWidth);
    if (spec) show(spec).catch((failure: Error) => setError(failure.message));
    return () => {
      isOver = true;
      finish();
    };
  }, [drawing]);
  if (!drawing.spec) return <p class="small">No chart: {drawing.no_chart}.</p>;
  if (error) return <Problem text={`Cannot draw the chart: ${error}`} />;
  const savePng = async (): Promise<void> => {
    const canvas = await render(drawing.spec!, (view) => view.toCanvas(3));
    canvas.toBlob((blob) => blob && saveBlob(blob, `${name}.png`));
  };
  const saveSvg = async (): Promise<void> =>
    saveBlob(new Blob([await render(drawing.spec!, (view) => view.toSVG())], { type: "image/svg+xml" }), `${name}.svg`);
  return (
    <figure>
      <div class="chart" ref={box} role="img" aria-label={`Chart of ${name}`} />
      {isDrawn && !isPlain && (
        <figcaption>
          <button type="button" onClick={savePng}>PNG</button> <button type="button" onClick={saveSvg}>SVG</button>
          {zoomed && <span class="small"> Ctrl and the wheel zoom, dragging moves, a double click resets.</span>}
        </figcaption>
      )}
    </figure>
  );
}
