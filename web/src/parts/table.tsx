import { useMemo, useState } from "preact/hooks";
import type { Cell, Column } from "../contract";
import { formatCell, formatCount } from "../format";
import { isNumber } from "../sql";

// Only the rows in view are in the page. All rows have this height, as in style.css.
const ROW_HEIGHT = 28;
const SHOWN_ROWS = 20;
const SPARE_ROWS = 10;

interface Props {
  label: string;
  columns: Column[];
  rows: Cell[][];
  meanings?: Map<string, string>;
}

/** A table that is sorted by a click on a column and filtered by a text. */
export function DataTable({ label, columns, rows, meanings }: Props) {
  const [order, setOrder] = useState({ place: -1, isDown: false });
  const [filter, setFilter] = useState("");
  const [top, setTop] = useState(0);
  const sorted = useMemo(() => sortRows(filterRows(rows, filter), order), [rows, filter, order]);
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - SPARE_ROWS);
  const shown = sorted.slice(first, first + SHOWN_ROWS + 2 * SPARE_ROWS);
  const after = sorted.length - first - shown.length;
  const numeric = columns.map(({ type }) => isNumber(type));
  return (
    <>
      {rows.length > 5 && (
        <p>
          <input type="search" placeholder="Filter rows" aria-label={`Filter ${label}`} value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />{" "}
          <span class="small" role="status">{filter && `${formatCount(sorted.length, "row")} of ${rows.length.toLocaleString("en-US")}`}</span>
        </p>
      )}
      <div class="wide rows" role="region" tabIndex={0} aria-label={label} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <table aria-rowcount={sorted.length + 1}>
          <thead>
            <tr>
              {columns.map(({ name }, place) => (
                <th key={place} scope="col" class={numeric[place] ? "number" : ""} aria-sort={order.place !== place ? "none" : order.isDown ? "descending" : "ascending"}>
                  <button type="button" title={meanings?.get(name) ?? ""} onClick={() => setOrder({ place, isDown: order.place === place && !order.isDown })}>
                    {name}
                    {order.place === place && <span aria-hidden="true">{order.isDown ? " ▼" : " ▲"}</span>}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first > 0 && <Gap rows={first} />}
            {shown.map((row, index) => (
              <tr key={first + index} aria-rowindex={first + index + 2}>
                {row.map((cell, place) => (
                  <td key={place} class={numeric[place] ? "number" : ""} title={typeof cell === "string" && cell.length > 60 ? cell : ""}>
                    {formatCell(cell)}
                  </td>
                ))}
              </tr>
            ))}
            {after > 0 && <Gap rows={after} />}
          </tbody>
        </table>
      </div>
    </>
  );
}

// A row of this height stands for the rows that are not in the page.
const Gap = ({ rows }: { rows: number }) => (
  <tr aria-hidden="true" ref={(row) => void (row && (row.style.height = `${rows * ROW_HEIGHT}px`))} />
);

function filterRows(rows: Cell[][], filter: string): Cell[][] {
  const wanted = filter.toLowerCase();
  return wanted ? rows.filter((row) => row.some((cell) => formatCell(cell).toLowerCase().includes(wanted))) : rows;
}

/** NULL comes last in both directions. */
function sortRows(rows: Cell[][], { place, isDown }: { place: number; isDown: boolean }): Cell[][] {
  if (place < 0) return rows;
  return rows.toSorted((one, other) => {
    const [left = null, right = null] = [one[place], other[place]];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    const less = typeof left === "string" && typeof right === "string" ? left.localeCompare(right, "en", { numeric: true }) : Number(left) - Number(right);
    return isDown ? -less : less;
  });
}
