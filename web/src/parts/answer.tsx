import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { NOT_COUNTED, type Answer, type Catalog, type Engine, type Note, type Parameter, type Query } from "../contract";
import { formatCount, saveBlob } from "../format";
import { addressOf } from "../route";
import { toCommand, toPython, toSql } from "../sql";
import { Chart } from "./chart";
import { Copy } from "./copy";
import { Jump } from "./jump";
import { reportAnswer } from "./loaded";
import { countCaveats, Notes, Sources } from "./notes";
import { Problem } from "./problem";
import { DataTable } from "./table";
import { useWork, type Loading } from "./use";

interface Props {
  /** Distinguishes several answers of a page. */
  id?: string;
  engine: Engine;
  catalog: Catalog;
  query: Query;
  /** Those of a named query. */
  parameters?: Parameter[] | undefined;
  hasChart: boolean;
  meanings?: Map<string, string>;
  /** The caveats of the object whose first rows these are. They stay, whichever rows those are. */
  caveats?: Note[];
  /** What is between the rows and the caveats. */
  children?: ComponentChildren;
}

/** Runs a query, and shows its chart, rows, caveats and sources. */
export function AnswerPanel({ id = "answer", engine, catalog, query, parameters, hasChart, meanings, caveats = [], children }: Props) {
  const [stopped, setStopped] = useState("");
  const key = JSON.stringify(query);
  const isStopped = stopped === key;
  const answer = useWork(
    async (signal) => {
      await engine.bind(query);
      signal.throwIfAborted();
      const found = await engine.run(query, signal);
      reportAnswer();
      const names = new Set(caveats.map(({ name }) => name));
      return { ...found, notes: [...caveats, ...found.notes.filter(({ name }) => !names.has(name))] };
    },
    [key, isStopped],
  );
  const { value } = answer;
  const about = value ? withoutNotCounted(value) : [];
  return (
    <>
      {isStopped ? (
        <p role="status">Stopped. <button type="button" onClick={() => setStopped("")}>Run again</button></p>
      ) : answer.error ? (
        <Problem text={answer.error} />
      ) : !value ? (
        <p role="status" class="busy">Running… <button type="button" onClick={() => setStopped(key)}>Stop</button></p>
      ) : (
        <>
          {hasChart && (value.rows.length ? <QueryChart key={key} engine={engine} query={query} /> : <p>No chart, because there are no rows.</p>)}
          {value.notes.filter(isNotCounted).map(({ word, text }) => <p key={word}>{word}: {text}</p>)}
          {about.length > 0 && <p><Jump to={`${id}-caveats`}>{countCaveats(about)}</Jump></p>}
          <Rows answer={value} label={query.name || "answer"} {...(meanings && { meanings })} />
          <Downloads engine={engine} catalog={catalog} query={query} parameters={parameters} />
        </>
      )}
      {children}
      <About id={id} answer={answer} />
    </>
  );
}

const isNotCounted = ({ name }: Note): boolean => name === NOT_COUNTED;

/** The notes below the rows: those on traces that are not counted are above them. */
const withoutNotCounted = ({ notes }: Answer): Note[] => notes.filter((note) => !isNotCounted(note));

function QueryChart({ engine, query }: { engine: Engine; query: Query }) {
  const { value, error } = useWork(async (signal) => {
    const found = await engine.draw(query, signal);
    reportAnswer();
    return found;
  }, []);
  return value ? <Chart name={query.name} drawing={value} /> : <p class="small" role="status">{error ?? "Drawing…"}</p>;
}

function About({ id, answer: { value } }: { id: string; answer: Loading<Answer> }) {
  if (!value) return null;
  return (
    <>
      <h2 id={`${id}-caveats`}>Caveats</h2>
      {value.approximate && <p class="small">{value.approximate}</p>}
      <Notes notes={withoutNotCounted(value)} />
      <details>
        <summary>Sources: {formatCount(value.sources.length, "raw file")}</summary>
        <Sources sources={value.sources} />
      </details>
    </>
  );
}

function Rows({ answer, label, meanings }: { answer: Answer; label: string; meanings?: Map<string, string> }) {
  const { columns, rows } = useMemo(() => withoutEmpty(answer), [answer]);
  const empty = answer.columns.filter((column) => !columns.includes(column)).map(({ name }) => name);
  const count = formatCount(answer.rows.length, "row");
  return (
    <>
      <h2>Rows</h2>
      <p>{answer.is_cut ? `The first ${count}; the downloads have all.` : `${count}.`}{empty.length > 0 && ` Without a value here: ${empty.join(", ")}.`}</p>
      <DataTable label={`Answer of ${label}`} columns={columns} rows={rows} {...(meanings && { meanings })} />
    </>
  );
}

/** The columns that have a value in some row. */
function withoutEmpty({ columns, rows }: Answer): Pick<Answer, "columns" | "rows"> {
  const isFilled = columns.map((_, place) => rows.length === 0 || rows.some((row) => row[place] !== null));
  if (!isFilled.includes(false) || !isFilled.includes(true)) return { columns, rows };
  return { columns: columns.filter((_, place) => isFilled[place]), rows: rows.map((row) => row.filter((_, place) => isFilled[place])) };
}

function Downloads({ engine, catalog, query, parameters }: Pick<Props, "engine" | "catalog" | "query" | "parameters">) {
  const [error, setError] = useState("");
  const save = (format: string): void => {
    engine.export(query, format).then(
      (blob) => saveBlob(blob, `${query.name || "answer"}.${format}`),
      (failure: Error) => setError(failure.message),
    );
  };
  return (
    <div class="actions">
      {catalog.formats.map((format) => (
        <button key={format} type="button" onClick={() => save(format)}>{format === "csv" ? "CSV" : "Parquet"}</button>
      ))}
      <Copy label="SQL" text={toSql(query, parameters)} />
      <Copy label="Python" text={toPython(query, parameters)} />
      <Copy label="command" text={toCommand(query)} />
      <Copy label="link" text={addressOf(catalog) + location.hash} />
      {error && <Problem text={error} />}
    </div>
  );
}
