import { useState } from "preact/hooks";
import type { Answer, Catalog, Engine, Parameter, Query } from "../contract";
import { formatCount, saveBlob } from "../format";
import { addressOf } from "../route";
import { toCommand, toPython, toSql } from "../sql";
import { Chart } from "./chart";
import { Copy } from "./copy";
import { reportAnswer } from "./loaded";
import { Notes, Sources } from "./notes";
import { DataTable } from "./table";
import { useWork } from "./use";

interface Props {
  engine: Engine;
  catalog: Catalog;
  query: Query;
  /** Those of a named query. */
  parameters?: Parameter[] | undefined;
  hasChart: boolean;
  meanings?: Map<string, string>;
}

/** Runs a query, and shows its chart, rows, caveats and sources. */
export function AnswerPanel({ engine, catalog, query, parameters, hasChart, meanings }: Props) {
  const [stopped, setStopped] = useState("");
  const key = JSON.stringify(query);
  const isStopped = stopped === key;
  const answer = useWork(
    async (signal) => {
      await engine.bind(query);
      signal.throwIfAborted();
      const found = await engine.run(query, signal);
      reportAnswer();
      return found;
    },
    [key, isStopped],
  );
  const drawing = useWork(
    async (signal) => {
      if (!hasChart || !answer.value) return undefined;
      const found = await engine.draw(query, signal);
      reportAnswer();
      return found;
    },
    [key, answer.value],
  );
  if (isStopped) return <p role="status">Stopped. <button type="button" onClick={() => setStopped("")}>Run again</button></p>;
  if (answer.error) return <p class="error" role="alert">{answer.error}</p>;
  if (!answer.value) return <p role="status" class="busy">Running… <button type="button" onClick={() => setStopped(key)}>Stop</button></p>;
  const name = query.name || "answer";
  return (
    <>
      {hasChart && (drawing.value ? <Chart name={name} drawing={drawing.value} /> : <p class="small" role="status">{drawing.error ?? "Drawing…"}</p>)}
      <Downloads engine={engine} catalog={catalog} query={query} parameters={parameters} />
      <Rows answer={answer.value} label={name} {...(meanings && { meanings })} />
      <h2>Caveats</h2>
      {answer.value.approximate && <p class="small">{answer.value.approximate}</p>}
      <Notes notes={answer.value.notes} />
      <details>
        <summary>Sources: {formatCount(answer.value.sources.length, "raw file")}</summary>
        <Sources sources={answer.value.sources} />
      </details>
    </>
  );
}

function Rows({ answer, label, meanings }: { answer: Answer; label: string; meanings?: Map<string, string> }) {
  const count = formatCount(answer.rows.length, "row");
  return (
    <>
      <h2>Answer</h2>
      <p>{answer.is_cut ? `The first ${count}; the downloads have all.` : `${count}.`}</p>
      <DataTable label={`Answer of ${label}`} columns={answer.columns} rows={answer.rows} {...(meanings && { meanings })} />
    </>
  );
}

function Downloads({ engine, catalog, query, parameters }: Omit<Props, "hasChart" | "meanings">) {
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
      {error && <p class="error" role="alert">{error}</p>}
    </div>
  );
}
