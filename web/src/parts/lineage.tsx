import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Catalog, Description } from "../contract";
import { BOX_HEIGHT, layOut, type Box } from "./layout";
import { kindHash, ObjectLinks } from "./links";

const MARGIN = 20;

// Who opens the picture and follows a link of it finds it open there.
let wasOpen = false;

/** A picture from the raw files to what reads the object. Each name leads to its own picture. */
export function Lineage(props: { catalog: Catalog; found: Description }) {
  const [isOpen, setOpen] = useState(wasOpen);
  const toggle = (event: Event): void => setOpen((wasOpen = (event.currentTarget as HTMLDetailsElement).open));
  return (
    <details open={isOpen} onToggle={toggle}>
      <summary>Lineage</summary>
      {isOpen && <Picture {...props} />}
    </details>
  );
}

function Picture({ catalog, found }: { catalog: Catalog; found: Description }) {
  const frame = useRef<HTMLDivElement>(null);
  const { boxes, arrows, self, width, height } = useMemo(() => layOut(found), [found]);
  useLayoutEffect(() => {
    // As far as the object itself needs, and then to the next boxes, so that none is cut on the left.
    const { clientWidth, clientHeight } = frame.current!;
    const needed = self.x + self.width + MARGIN - clientWidth;
    const left = Math.min(self.x, ...boxes.map(({ x }) => x).filter((x) => x - MARGIN >= needed)) - MARGIN;
    frame.current!.scrollTo(left, self.y + BOX_HEIGHT / 2 - clientHeight / 2);
  }, [boxes, self]);
  return (
    <figure class="lineage">
      <div class="wide" ref={frame}>
        <svg width={width} height={height} role="group" aria-label={`Lineage of ${found.name}`}>
          <g class="arrows" aria-hidden="true">
            {arrows.map(([from, to]) => <path key={`${from.name} ${to.name}`} d={curve(from, to)} />)}
          </g>
          {sortForReading(boxes).map((box) =>
            box === self || box.kind === "raw" ? (
              <Shape key={box.name} box={box} isSelf={box === self} />
            ) : (
              <a key={box.name} href={kindHash(box.kind, box.name)} aria-label={`${box.name}, ${box.kind}, ${box.x < self.x ? "upstream" : "downstream"} of ${found.name}`}>
                <Shape box={box} />
              </a>
            ),
          )}
        </svg>
      </div>
      <figcaption class="small">Data flows from left to right. A link opens the lineage of that object.</figcaption>
      <details>
        <summary>Lineage as a list</summary>
        <p>{found.name} reads <ObjectLinks catalog={catalog} names={found.reads} />.</p>
        <p>It is read by <ObjectLinks catalog={catalog} names={found.read_by.map((reader) => reader.name)} />.</p>
      </details>
    </figure>
  );
}

function Shape({ box: { name, kind, x, y, width }, isSelf }: { box: Box; isSelf?: boolean }) {
  return (
    <g class={isSelf ? "box self" : `box ${kind}`}>
      <rect x={x} y={y} width={width} height={BOX_HEIGHT} rx={kind === "table" || kind === "raw" ? 0 : BOX_HEIGHT / 4} />
      <text x={x + 10} y={y + BOX_HEIGHT / 2 + 4}>
        <tspan class="name">{name}</tspan> <tspan class="kind">{kind}</tspan>
      </text>
    </g>
  );
}

const sortForReading = (boxes: Box[]): Box[] => boxes.toSorted((left, right) => left.x - right.x || left.y - right.y);

function curve(from: Box, to: Box): string {
  const [x1, y1, x2, y2] = [from.x + from.width, from.y + BOX_HEIGHT / 2, to.x, to.y + BOX_HEIGHT / 2];
  const middle = (x1 + x2) / 2;
  return `M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x2},${y2}`;
}
