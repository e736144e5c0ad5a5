import { useEffect, useRef, useState } from "preact/hooks";
import type { Engine, Entry } from "../contract";
import { toHash } from "../route";
import { choosePicture, render, withoutTexts } from "./draw";
import { reportAnswer } from "./loaded";

// The picture of each chart that was in view, as long as the page is open. They are drawn one after the other.
const drawn = new Map<string, string>();
let queue: Promise<unknown> = Promise.resolve();
const FEW = 8;

/** The charts of some queries with their default parameters; each is drawn when it comes into view. */
export function Gallery({ engine, entries }: { engine: Engine; entries: Entry[] }) {
  const [isWhole, setWhole] = useState(false);
  const [, setEmpty] = useState(0);
  // Not all that some queries read is here, and what is has no rows to draw.
  const charts = entries.filter(({ name }) => drawn.get(name) !== "");
  if (charts.length === 0) return null;
  const shown = isWhole ? charts : charts.slice(0, FEW);
  return (
    <section>
      <h2>Charts <span class="small">{charts.length}</span></h2>
      <ul class="gallery">
        {shown.map((entry) => <Thumbnail key={entry.name} engine={engine} entry={entry} onEmpty={() => setEmpty((count) => count + 1)} />)}
      </ul>
      {shown.length < charts.length && <p><button type="button" onClick={() => setWhole(true)}>Show all {charts.length} charts</button></p>}
    </section>
  );
}

function Thumbnail({ engine, entry: { name, title }, onEmpty }: { engine: Engine; entry: Entry; onEmpty: () => void }) {
  const box = useRef<HTMLLIElement>(null);
  const [picture, setPicture] = useState(drawn.get(name));
  const [isFailed, setFailed] = useState(false);
  useEffect(() => {
    let isOver = false;
    const show = async (): Promise<void> => {
      if (isOver) return;
      // It is not aborted: DuckDB-WASM would start again.
      const found = await engine.draw({ name, given: {}, statement: "" }, new AbortController().signal);
      const spec = choosePicture(found, 0);
      const address = spec ? URL.createObjectURL(new Blob([await render(withoutTexts(spec, false), (view) => view.toSVG())], { type: "image/svg+xml" })) : "";
      drawn.set(name, address);
      if (!address) onEmpty();
      else if (!isOver) setPicture(address);
      reportAnswer();
    };
    const observer = new IntersectionObserver((seen) => {
      if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      queue = queue.then(show).catch(() => setFailed(true));
    }, { rootMargin: "300px" });
    if (box.current && picture === undefined) observer.observe(box.current);
    return () => {
      observer.disconnect();
      isOver = true;
    };
  }, []);
  return (
    <li ref={box}>
      <a href={toHash("query", name)}>
        <span class="picture">{picture ? <img src={picture} alt="" /> : isFailed ? "Cannot draw this now" : "Drawing…"}</span>
        {title}
      </a>
    </li>
  );
}
