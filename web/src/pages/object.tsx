import { useState } from "preact/hooks";
import type { Shared } from "../app";
import type { Catalog, ColumnMeaning, Description } from "../contract";
import { AnswerPanel } from "../parts/answer";
import { objectHash } from "../parts/links";
import { Notes } from "../parts/notes";
import { useWork } from "../parts/use";

export function ObjectPage({ engine, catalog, name }: Shared & { name: string }) {
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
      {isShown ? (
        <AnswerPanel engine={engine} catalog={catalog} query={{ name, given: {}, statement: "" }} hasChart={false} />
      ) : (
        <button type="button" onClick={() => setShown(true)}>Show the first rows</button>
      )}
      {found.sql && (
        <details>
          <summary>SQL</summary>
          <pre tabIndex={0}><code>{found.sql}</code></pre>
        </details>
      )}
    </>
  );
}

/** What the object reads, and what reads it; each name leads to its own lineage. */
function Lineage({ catalog, found }: { catalog: Catalog; found: Description }) {
  const list = (title: string, names: string[]) => (
    <section>
      <h3>{title}</h3>
      <ul>{names.length ? names.map((name) => <li key={name}><a href={objectHash(catalog, name)}>{name}</a></li>) : <li class="small">{title === "Reads" ? "raw files" : "nothing"}</li>}</ul>
    </section>
  );
  return (
    <div class="lineage">
      {list("Reads", found.reads)}
      <span aria-hidden="true">→</span>
      <section><h3>{found.kind}</h3><p><strong>{found.name}</strong></p></section>
      <span aria-hidden="true">→</span>
      {list("Read by", found.read_by)}
    </div>
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
