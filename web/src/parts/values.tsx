import { useState } from "preact/hooks";
import type { Cell, ColumnMeaning, Engine } from "../contract";
import { formatCell } from "../format";
import { toHash } from "../route";
import { isNumber, quote } from "../sql";
import { Problem } from "./problem";
import { useWork } from "./use";

const MOST_VALUES = 8;
const BINS = 24;
const [WIDTH, HEIGHT] = [240, 48];

type Props = { engine: Engine; object: string; column: ColumnMeaning };

/** The distribution of a column, computed when it is opened: a histogram, or the most frequent values. */
export function Values(props: Props) {
  const [isOpen, setOpen] = useState(false);
  const { column, type } = props.column;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary aria-label={`Values of ${column}`}>values</summary>
      {isOpen && (isNumber(type) || isTime(type) ? <Histogram {...props} /> : <Frequent {...props} />)}
    </details>
  );
}

const isTime = (type: string): boolean => /^(TIMESTAMP|DATE$)/.test(type);
const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function useRows({ engine, object, column }: Props, sql: string) {
  const query = { name: "", given: {}, statement: sql };
  return useWork(async (signal) => (await engine.run(query, signal)).rows, [object, column.column]);
}

function Frequent(props: Props) {
  const { object, column } = props;
  const name = identifier(column.column);
  const { value: rows, error } = useRows(
    props,
    `select cast(${name} as varchar) as name, count(*) as rows, sum(count(*)) over () as total
from ${object} group by 1 order by rows desc, 1 limit ${MOST_VALUES}`,
  );
  if (error) return <Problem text={error} />;
  if (!rows) return <p role="status" class="busy">Counting…</p>;
  if (rows.length > 1 && rows[0]![1] === 1) return <p class="small">No value occurs twice</p>;
  const filter = (text: Cell): string => `select * from ${object} where ${text === null ? `${name} is null` : `cast(${name} as varchar) = ${quote(String(text))}`}`;
  return (
    <ul class="values">
      {rows.map(([text = null, count, total]) => (
        <li key={text}>
          <a href={toHash("sql", "", { statement: filter(text) })} title="Show these rows">{text === null ? "NULL" : String(text) || "(empty)"}</a>{" "}
          <span class="number">{formatCell(count!)}</span>
          <meter min={0} max={Number(total)} value={Number(count)} aria-label={`Share of ${text}`} />
        </li>
      ))}
      {rows.length === MOST_VALUES && <li class="small">The {MOST_VALUES} most frequent</li>}
    </ul>
  );
}

function Histogram(props: Props) {
  const { object, column: { column, type, unit } } = props;
  const name = identifier(column);
  const value = isTime(type) ? `epoch_us(${name}) / 1e6` : `cast(${name} as double)`;
  // Skewed values, as most durations are, get bins of equal width on a logarithmic scale.
  const { value: rows, error } = useRows(
    props,
    `with x as (select case when isfinite(${value}) then ${value} end as x from ${object}),
s as (select min(x) as low, max(x) as high, count(*) - count(x) as missing, min(x) >= 0 and max(x) > 50 * median(x) as is_log from x),
y as (select if(is_log, ln(1 + x), x) as y, if(is_log, ln(1 + low), low) as low, if(is_log, ln(1 + high), high) as high from x, s where x is not null),
b as (select least(${BINS - 1}, coalesce(floor(${BINS} * (y - low) / nullif(high - low, 0)), 0)) as bin, count(*) as rows from y group by 1)
select bin, rows, low, high, missing, is_log from s left join b on true order by bin`,
  );
  if (error) return <Problem text={error} />;
  if (!rows) return <p role="status" class="busy">Counting…</p>;
  const [, , low = null, high = null, missing, isLog] = rows[0]!;
  if (low === null) return <p class="small">Only NULL</p>;
  const most = Math.max(...rows.map(([, count]) => Number(count)));
  const scale = (x: number): number => (isLog ? Math.log1p(x) : x);
  const edge = (bin: number): number => {
    const y = scale(Number(low)) + ((scale(Number(high)) - scale(Number(low))) * bin) / BINS;
    return isLog ? Math.expm1(y) : y;
  };
  const show = (x: number): string => (isTime(type) ? new Date(x * 1000).toISOString().slice(0, 16).replace("T", " ") : `${formatCell(Number(x.toPrecision(4)))} ${unit}`.trim());
  const range = `${show(Number(low))} to ${show(Number(high))}`;
  return (
    <figure class="values">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-label={`Histogram of ${column}, ${range}`}>
        {rows.map(([bin, count]) => {
          const height = Math.max(1, (HEIGHT * Number(count)) / most);
          return (
            <rect key={bin} x={(Number(bin) * WIDTH) / BINS} y={HEIGHT - height} width={WIDTH / BINS - 1} height={height}>
              <title>{`${show(edge(Number(bin)))} to ${show(edge(Number(bin) + 1))}: ${formatCell(count!)} rows`}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption class="small">{range}{isLog && ", log scale"}{Number(missing) > 0 && `; ${formatCell(missing!)} NULL`}</figcaption>
    </figure>
  );
}
