import { useEffect, useRef, useState } from "preact/hooks";
import type { Engine, Entry } from "../contract";
import { toHash } from "../route";
import { drawThumbnail } from "./draw";
import { reportAnswer } from "./loaded";

// The picture of each chart that was in view, as long as the page is open. They are drawn one after the other.
const drawn = new Map<string, string>();
let queue: Promise<unknown> = Promise.resolve();

/** The charts of some queries with their default parameters; each is drawn when it comes into view. */
export function Gallery({ engine, entries }: { engine: Engine; entries: Entry[] }) {
  if (entries.length === 0) return null;
  return (
    <section>
      <h2>Charts <span class="small">{entries.length}</span></h2>
      <ul class="gallery" tabIndex={0} aria-label="Charts">
        {entries.map((entry) => <Thumbnail key={entry.name} engine={engine} entry={entry} />)}
      </ul>
    </section>
  );
}

function Thumbnail({ engine, entry: { name, title } }: { engine: Engine; entry: Entry }) {
  const box = useRef<HTMLLIElement>(null);
  const [picture, setPicture] = useState(drawn.get(name));
  useEffect(() => {
    let isOver = false;
    const show = async (): Promise<void> => {
      if (isOver) return;
      // It is not aborted: DuckDB-WASM would start again.
      const { spec } = await engine.draw({ name, given: {}, statement: "" }, new AbortController().signal);
      const address = spec ? URL.createObjectURL(new Blob([await drawThumbnail(spec)], { type: "image/svg+xml" })) : "";
      drawn.set(name, address);
      if (!isOver) setPicture(address);
      reportAnswer();
    };
    const observer = new IntersectionObserver((seen) => {
      if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      queue = queue.then(show).catch(() => undefined);
    });
    if (box.current && picture === undefined) observer.observe(box.current);
    return () => {
      observer.disconnect();
      isOver = true;
    };
  }, []);
  return (
    <li ref={box}>
      <a href={toHash("query", name)}>
        <span class="picture">{picture && <img src={picture} alt="" />}</span>
        {title}
      </a>
    </li>
  );
}
