import type { Catalog } from "../contract";
import { toHash } from "../route";
import { objectHash } from "./links";

/** In place of the page of an object that cannot be described. The error may name others. */
export const Missing = ({ catalog, name, error }: { catalog: Catalog; name: string; error: string }) => {
  const named = new Set(error.match(/\w+\.\w+/g));
  return (
    <>
      <h1>{name}</h1>
      <Problem text={error} />
      {catalog.objects.filter((known) => named.has(known.name)).map((known) => (
        <p key={known.name}><a href={objectHash(catalog, known.name)}>{known.name}</a>: {known.title}</p>
      ))}
      <p><a href={toHash("")}>Search all queries, views and tables</a></p>
    </>
  );
};

/** An error. DuckDB marks a place in the statement with ^ in the line below; here the word is marked, because lines wrap. */
export function Problem({ text }: { text: string }) {
  const [message, ...places] = text.split(/\n+(?=LINE \d+: )/);
  return (
    <div class="error" role="alert">
      <p>{message}</p>
      {places.map((place) => <Place key={place} text={place} />)}
    </div>
  );
}

function Place({ text }: { text: string }) {
  const [line = "", caret = ""] = text.split("\n");
  const start = caret.indexOf("^");
  if (start < 0 || start >= line.length) return <pre>{text}</pre>;
  const word = line.slice(start).match(/^"[^"]*"|^[\w.]+|^./)![0];
  return <pre>{line.slice(0, start)}<mark>{word}</mark>{line.slice(start + word.length)}</pre>;
}
