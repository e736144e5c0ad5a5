import { useEffect, useRef, useState } from "preact/hooks";
import type { Catalog, PageProps } from "../contract";
import { AnswerPanel } from "../parts/answer";
import { Problem } from "../parts/problem";
import { TableList } from "../parts/tables";
import { toHash } from "../route";

const FIRST = "select trace, count(*) as jobs\nfrom unified.jobs\ngroup by trace\norder by jobs desc";

/** Statements by title, over views that have data. */
const EXAMPLES: [string, string, string][] = [
  ["Jobs per trace", "unified.jobs", FIRST],
  ["Median run time", "unified.jobs", "select trace, median(run_s) / 3600 as median_run_h, count(run_s) as jobs\nfrom unified.jobs\ngroup by trace\norder by median_run_h"],
  ["Failed jobs", "unified.jobs", "select trace, 100.0 * count(*) filter (where status = 'failed') / count(status) as failed_pct\nfrom unified.jobs\ngroup by trace\nhaving count(status) > 0"],
  ["Query with a parameter", "unified.run_cdf", "from unified.run_cdf(min_run_s := 600)"],
  ["Rows per table", "", "select table_name, row_count\nfrom catalog.tables\nwhere row_count > 0\norder by row_count desc"],
  ["Caveats", "", "from catalog.caveats"],
];

function examplesOf(catalog: Catalog): [string, string][] {
  const names = new Set(catalog.objects.filter(({ data }) => data !== "none").map(({ name }) => name));
  return EXAMPLES.filter(([, needed]) => !needed || names.has(needed)).map(([title, , example]) => [title, example]);
}

export function ConsolePage({ engine, catalog, statement }: PageProps & { statement: string }) {
  const box = useRef<HTMLDivElement>(null);
  const read = useRef(() => statement);
  const write = useRef((_: string): void => undefined);
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
      write.current = editor.write;
      close = editor.close;
    };
    open().catch((failure: Error) => setError(failure.message));
    return () => {
      isOver = true;
      close();
    };
  }, []);
  useEffect(() => {
    if (statement && statement !== read.current().trim().replace(/;$/, "")) write.current(statement);
  }, [statement]);
  return (
    <>
      <h1>SQL</h1>
      <p>One read-only statement in DuckDB’s SQL. Ctrl-Enter runs it; names of tables, views and columns are completed.</p>
      {error && <Problem text={error} />}
      <div class="console">
        <div>
          <div class="editor" ref={box} />
          <p class="choices">
            <button type="button" onClick={run}>Run</button>
            <span>Examples:</span>
            {examplesOf(catalog).map(([title, example]) => <a key={title} href={toHash("sql", "", { statement: example })}>{title}</a>)}
          </p>
        </div>
        <div>{statement && <AnswerPanel engine={engine} catalog={catalog} query={{ name: "", given: {}, statement }} hasChart={false} />}</div>
        <TableList catalog={catalog} />
      </div>
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
