import { useEffect, useRef, useState } from "preact/hooks";
import type { Catalog, PageProps } from "../contract";
import { AnswerPanel } from "../parts/answer";
import { toHash } from "../route";

const FIRST = "select trace, count(*) as jobs\nfrom unified.jobs\ngroup by trace\norder by jobs desc";

export function ConsolePage({ engine, catalog, statement }: PageProps & { statement: string }) {
  const box = useRef<HTMLDivElement>(null);
  const read = useRef(() => statement);
  const [error, setError] = useState("");
  const run = (): void => {
    location.hash = toHash("sql", "", { statement: read.current().trim().replace(/;$/, "") });
  };
  useEffect(() => {
    let isOver = false;
    let close = (): void => undefined;
    const open = async (): Promise<void> => {
      const { openEditor } = await import("../parts/editor");
      if (isOver || !box.current) return;
      const editor = openEditor(box.current, statement || FIRST, namesOf(catalog), run);
      read.current = editor.read;
      close = editor.close;
    };
    open().catch((failure: Error) => setError(failure.message));
    return () => {
      isOver = true;
      close();
    };
  }, []);
  return (
    <>
      <h1>SQL</h1>
      <p>One read-only statement in DuckDB’s SQL. Ctrl-Enter runs it; names of tables, views and columns are completed.</p>
      {error && <p class="error" role="alert">{error}</p>}
      <div class="editor" ref={box} />
      <p><button type="button" onClick={run}>Run</button></p>
      {statement && <AnswerPanel engine={engine} catalog={catalog} query={{ name: "", given: {}, statement }} hasChart={false} />}
    </>
  );
}

/** The columns of each table and view, by schema. */
function namesOf(catalog: Catalog): Record<string, Record<string, string[]>> {
  const names: Record<string, Record<string, string[]>> = {};
  for (const { name, columns } of catalog.objects) {
    const [schema = "", object = ""] = name.split(".");
    (names[schema] ??= {})[object] = columns;
  }
  return names;
}
