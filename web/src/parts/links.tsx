import type { Catalog } from "../contract";
import { toHash } from "../route";

/** The page of a column's or lineage's object, by its kind. */
export const kindHash = (kind: string, name: string): string => toHash(kind === "query" ? "query" : "object", name);

/** The page of an object: a query's answer, or a table's or view's columns. */
export function objectHash(catalog: Catalog, name: string): string {
  const isQuery = catalog.objects.some((entry) => entry.kind === "query" && entry.name === name);
  return toHash(isQuery ? "query" : "object", name);
}

export function ObjectLinks({ catalog, names }: { catalog: Catalog; names: string[] }) {
  if (names.length === 0) return <>nothing</>;
  return (
    <>
      {names.map((name, place) => (
        <span key={name}>
          {place > 0 && ", "}
          <a href={objectHash(catalog, name)}>{name}</a>
        </span>
      ))}
    </>
  );
}
