import { toHash } from "../route";

/** In place of the page of an object that cannot be described. */
export const Missing = ({ name, error }: { name: string; error: string }) => (
  <>
    <h1>{name}</h1>
    <Problem text={error} />
    <p><a href={toHash("")}>Search all queries, views and tables</a></p>
  </>
);

/** An error. DuckDB marks a place in the statement with ^ in the line below, so both need letters of one width. */
export function Problem({ text }: { text: string }) {
  const [message, ...marked] = text.split(/\n+(?=LINE \d+: )/);
  return (
    <div class="error" role="alert">
      <p>{message}</p>
      {marked.length > 0 && <pre tabIndex={0}>{marked.join("\n")}</pre>}
    </div>
  );
}
