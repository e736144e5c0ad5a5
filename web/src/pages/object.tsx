import { useState } from "preact/hooks";
import type { Catalog, ColumnMeaning, Description, Engine, PageProps } from "../contract";
import { AnswerPanel } from "../parts/answer";
import { formatCount } from "../format";
import { Jump } from "../parts/jump";
import { Lineage } from "../parts/lineage";
import { objectHash } from "../parts/links";
import { countCaveats, Notes, Sources } from "../parts/notes";
import { Missing } from "../parts/problem";
import { useWork } from "../parts/use";
import { Values } from "../parts/values";

// More links than these are folded.
const FEW_LINKS = 2;

export function ObjectPage({ engine, catalog, name }: PageProps & { name: string }) {
  const { value: found, error } = useWork(() => engine.describe(name), [name]);
  const [isShown, setShown] = useState(false);
  if (error) return <Missing catalog={catalog} name={name} error={error} />;
  if (!found) return <p role="status" class="busy">Loading…</p>;
  return (
    <>
      <h1>{name}</h1>
      <p class="lead">{found.title}</p>
      {found.facts.grain && <p class="lead">Grain: {found.facts.grain}</p>}
      {found.left_out ? (
        <p>This site does not have the rows: {found.left_out}.</p>
      ) : isShown ? (
        <AnswerPanel engine={engine} catalog={catalog} query={{ name, given: {}, statement: "" }} hasChart={false} caveats={found.notes} />
      ) : (
        <p class="choices">
          <button type="button" onClick={() => setShown(true)}>Show the first rows</button>
          {found.notes.length > 0 && <Jump to="caveats">{countCaveats(found.notes)}</Jump>}
        </p>
      )}
      <h2>Columns</h2>
      <Columns engine={engine} catalog={catalog} name={name} found={found} />
      {!isShown && (
        <>
          <h2 id="caveats">Caveats</h2>
          <Notes notes={found.notes} />
        </>
      )}
      <h2>Definition</h2>
      <dl>
        {Object.entries(found.facts).filter(([fact]) => fact !== "reads" && fact !== "grain").map(([fact, text]) => (
          <div key={fact}>
            <dt>{fact}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <Lineage catalog={catalog} found={found} />
      {!isShown && (
        <details>
          <summary>Sources: {formatCount(found.sources.length, "raw file")}</summary>
          <Sources sources={found.sources} />
        </details>
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

function Columns({ engine, catalog, name, found }: { engine: Engine; catalog: Catalog; name: string; found: Description }) {
  return (
    <div class="wide" role="region" tabIndex={0} aria-label="Columns">
      <table class="stacked">
        <thead>
          <tr>
            {["column", "type", "unit", "provenance", "meaning", "computed from"].map((title) => <th key={title} scope="col">{title}</th>)}
          </tr>
        </thead>
        <tbody>
          {found.columns.map((column) => (
            <tr key={column.column}>
              <th scope="row"><code>{column.column}</code>{!found.left_out && <Values engine={engine} object={name} column={column} />}</th>
              <td>{column.type}</td>
              <td>{column.unit}</td>
              <td>{column.provenance}</td>
              <td class="long">{column.meaning}</td>
              <td class="from"><Origins catalog={catalog} column={column} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Links to the columns from which a column is computed. */
function Origins({ catalog, column: { lineage } }: { catalog: Catalog; column: ColumnMeaning }) {
  const links = lineage.map((from) => <li key={from}><a href={objectHash(catalog, from.split(".").slice(0, 2).join("."))}>{from}</a></li>);
  if (links.length === 0) return null;
  const list = <ul>{links}</ul>;
  return links.length > FEW_LINKS ? <details><summary>{formatCount(links.length, "column")}</summary>{list}</details> : list;
}
