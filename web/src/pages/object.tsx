import { useState } from "preact/hooks";
import type { Catalog, ColumnMeaning, PageProps } from "../contract";
import { AnswerPanel } from "../parts/answer";
import { formatCount } from "../format";
import { Lineage } from "../parts/lineage";
import { objectHash } from "../parts/links";
import { Notes, Sources } from "../parts/notes";
import { useWork } from "../parts/use";

export function ObjectPage({ engine, catalog, name }: PageProps & { name: string }) {
  const { value: found, error } = useWork(() => engine.describe(name), [name]);
  const [isShown, setShown] = useState(false);
  if (error) return <p class="error" role="alert">{name}: {error}</p>;
  if (!found) return <p role="status" class="busy">Loading…</p>;
  return (
    <>
      <h1>{name}</h1>
      <p class="lead">{found.title}</p>
      <dl>
        {Object.entries(found.facts).filter(([fact]) => fact !== "reads").map(([fact, text]) => (
          <div key={fact}>
            <dt>{fact}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <h2>Lineage</h2>
      <Lineage catalog={catalog} found={found} />
      <h2>Columns</h2>
      <Columns catalog={catalog} columns={found.columns} />
      <h2>Caveats</h2>
      <Notes notes={found.notes} />
      <h2>Rows</h2>
      {found.left_out ? (
        <p>This site does not have the rows: {found.left_out}.</p>
      ) : isShown ? (
        <AnswerPanel engine={engine} catalog={catalog} query={{ name, given: {}, statement: "" }} hasChart={false} />
      ) : (
        <button type="button" onClick={() => setShown(true)}>Show the first rows</button>
      )}
      <details>
        <summary>Sources: {formatCount(found.sources.length, "raw file")}</summary>
        <Sources sources={found.sources} />
      </details>
      {found.sql && (
        <details>
          <summary>SQL</summary>
          <pre tabIndex={0}><code>{found.sql}</code></pre>
        </details>
      )}
    </>
  );
}

function Columns({ catalog, columns }: { catalog: Catalog; columns: ColumnMeaning[] }) {
  return (
    <div class="wide" role="region" tabIndex={0} aria-label="Columns">
      <table>
        <thead>
          <tr>
            {["column", "type", "unit", "provenance", "meaning", "computed from"].map((title) => <th key={title} scope="col">{title}</th>)}
          </tr>
        </thead>
        <tbody>
          {columns.map(({ column, type, unit, provenance, meaning, lineage }) => (
            <tr key={column}>
              <th scope="row"><code>{column}</code></th>
              <td>{type}</td>
              <td>{unit}</td>
              <td>{provenance}</td>
              <td class="long">{meaning}</td>
              <td class="long">
                {lineage.map((from, place) => (
                  <span key={from}>{place > 0 && ", "}<a href={objectHash(catalog, from.split(".").slice(0, 2).join("."))}>{from}</a></span>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
