import type { Note, Source } from "../contract";
import { formatCell, formatCount } from "../format";

/** Whether a reader who does not know the caveat is likely to draw a wrong conclusion. */
const canMislead = ({ severity }: Note): boolean => severity === "wrong result";

/** Notes on the data, such as tables without rows, have no severity and are no caveats. */
export function countCaveats(notes: Note[]): string {
  const caveats = notes.filter(({ severity }) => severity).length;
  const others = notes.length - caveats;
  const count = notes.filter(canMislead).length;
  const parts = [
    ...(caveats ? [`${formatCount(caveats, "caveat")}${count ? ` (${count} can mislead)` : ""}`] : []),
    ...(others ? [formatCount(others, "note")] : []),
  ];
  return parts.join(" and ");
}

/** One line for each caveat, which unfolds to its text. */
export function Notes({ notes }: { notes: Note[] }) {
  if (notes.length === 0) return <p>No known caveats.</p>;
  return (
    <ul class="notes">
      {notes.map((note) => (
        <li key={note.name}>
          {note.severity ? (
            <details>
              <summary>
                <strong>{note.name}</strong> {note.summary || note.text}{" "}
                <span class={`badge ${canMislead(note) ? "warn" : ""}`}>{canMislead(note) ? "can mislead" : note.severity}</span>
              </summary>
              <p>{note.text}</p>
            </details>
          ) : (
            `${note.word === "note" ? "Note" : note.word}: ${note.text}`
          )}
        </li>
      ))}
    </ul>
  );
}

/** The raw files behind an answer. */
export function Sources({ sources }: { sources: Source[] }) {
  if (sources.length === 0) return <p>No raw file of the warehouse is behind this.</p>;
  return (
    <div class="wide" role="region" tabIndex={0} aria-label="Sources">
      <table>
        <thead>
          <tr>
            <th scope="col">raw file</th>
            <th scope="col">table</th>
            <th scope="col" class="number">rows kept</th>
            <th scope="col">data</th>
            <th scope="col">SHA-256</th>
          </tr>
        </thead>
        <tbody>
          {sources.map((source) => (
            <tr key={source.table_name + source.file + source.member}>
              <td>{source.file.includes(source.member) ? source.file : `${source.file}, ${source.member}`}</td>
              <td>{source.table_name}</td>
              <td class="number">{formatCell(source.rows_kept)}</td>
              <td>{source.synthetic ? "synthetic" : "published"}</td>
              <td class="hash">{source.sha256}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
