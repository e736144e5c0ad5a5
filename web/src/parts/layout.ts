// Places of the boxes in a picture of lineage: one column for each distance from the object, upstream on the left.

import type { Description } from "../contract";

export interface Box {
  name: string;
  kind: string;
  x: number;
  y: number;
  width: number;
}

export interface Picture {
  boxes: Box[];
  arrows: [Box, Box][];
  self: Box;
  width: number;
  height: number;
}

export const BOX_HEIGHT = 28;
const ROW = 38;
const GAP = 56;
// The width of a character in the font of the boxes, and the space around a name and its kind.
const CHARACTER = 7.4;
const SPACE = 28;
// A table with more raw files has one box for all of them.
const MOST_FILES = 3;

interface Node {
  kind: string;
  reads: string[];
  column: number;
}

export function layOut(found: Description): Picture {
  const nodes = collectNodes(found);
  const boxes = placeBoxes(nodes);
  const arrows = [...nodes].flatMap(([name, { reads }]) => reads.map((read): [Box, Box] => [boxes.get(read)!, boxes.get(name)!]));
  const all = [...boxes.values()];
  const width = Math.max(...all.map((box) => box.x + box.width)) + 2;
  const height = Math.max(...all.map((box) => box.y)) + BOX_HEIGHT + 2;
  return { boxes: all, arrows, self: boxes.get(found.name)!, width, height };
}

function collectNodes({ name, upstream, read_by, sources }: Description): Map<string, Node> {
  const nodes = new Map<string, Node>(upstream.map((node) => [node.name, { ...node, reads: [...node.reads], column: 0 }]));
  for (const [table, files] of Map.groupBy(sources, (source) => source.table_name)) {
    if (!nodes.has(table)) continue;
    const names = [...new Set(files.map(({ file }) => file.replace(/^.*\//, "")))];
    const shown = names.length > MOST_FILES ? [`${names.length} files of ${table}`] : names;
    for (const file of shown) nodes.set(file, { kind: "raw", reads: [], column: 0 });
    nodes.get(table)!.reads.push(...shown);
  }
  // Each object is left of all that read it.
  const moveLeft = (reader: string): void => {
    const { reads, column } = nodes.get(reader)!;
    for (const read of reads) {
      const node = nodes.get(read)!;
      if (node.column < column) continue;
      node.column = column - 1;
      moveLeft(read);
    }
  };
  moveLeft(name);
  for (const reader of read_by) nodes.set(reader.name, { kind: reader.kind, reads: [name], column: 1 });
  return nodes;
}

/** Orders each column by the mean height of the readers, so that few arrows cross. */
function placeBoxes(nodes: Map<string, Node>): Map<string, Box> {
  const columns = [...Map.groupBy(nodes, ([, { column }]) => column)].sort(([left], [right]) => right - left);
  const height = Math.max(...columns.map(([, members]) => members.length)) * ROW;
  const boxes = new Map<string, Box>();
  const heightOf = (name: string): number => {
    const readers = [...nodes].filter(([, { reads }]) => reads.includes(name)).map(([reader]) => boxes.get(reader)?.y ?? 0);
    return readers.reduce((sum, y) => sum + y, 0) / (readers.length || 1);
  };
  let x = 0;
  for (const [, members] of columns) {
    const heights = new Map(members.map(([name]) => [name, heightOf(name)]));
    const sorted = members.toSorted(([left], [right]) => heights.get(left)! - heights.get(right)! || left.localeCompare(right, "en", { numeric: true }));
    const width = Math.max(...sorted.map(([name, { kind }]) => (name.length + kind.length) * CHARACTER)) + SPACE;
    x -= width + GAP;
    sorted.forEach(([name, { kind }], row) => {
      boxes.set(name, { name, kind, x, y: (height - sorted.length * ROW) / 2 + row * ROW + 1, width });
    });
  }
  for (const box of boxes.values()) box.x -= x - 1;
  return boxes;
}
