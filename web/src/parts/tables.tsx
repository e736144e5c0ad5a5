import { useState } from "preact/hooks";
import type { Catalog } from "../contract";
import { toHash } from "../route";
import { objectHash } from "./links";

/** Tables and views with data and their columns. A click shows the first rows. */
export function TableList({ catalog }: { catalog: Catalog }) {
  const [filter, setFilter] = useState("");
  const listed = catalog.objects.filter(({ kind, data, name }) => kind !== "query" && data !== "none" && name.includes(filter.trim().toLowerCase()));
  // What is about all traces comes first.
  const sorted = listed.toSorted((left, right) => Number(right.name.startsWith("unified.")) - Number(left.name.startsWith("unified.")) || left.name.localeCompare(right.name, "en"));
  return (
    <section aria-label="Tables and views">
      <h2>Tables and views</h2>
      <input type="search" placeholder="itp" aria-label="Filter tables and views" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
      <ul class="tables" tabIndex={0} aria-label="Tables and views">
        {sorted.map(({ name, columns, title }) => (
          <li key={name}>
            <details>
              <summary title={title}><code>{name}</code></summary>
              <p class="small">{columns.join(", ")}</p>
              <p class="choices small"><a href={toHash("sql", "", { statement: `from ${name} limit 100` })}>First rows</a><a href={objectHash(catalog, name)}>Meaning of the columns</a></p>
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}
