import type { Catalog } from "../contract";
import { objectHash } from "../parts/links";
import { toHash } from "../route";

/** For an address that is no page. It may still have the name of an object. */
export function NotFoundPage({ catalog, address }: { catalog: Catalog; address: string }) {
  const meant = catalog.objects.filter(({ name }) => address.split("/").includes(name));
  return (
    <>
      <h1>Page not found</h1>
      <p>There is no page <code>#/{address}</code>.</p>
      {meant.map(({ name, kind }) => <p key={name}>There is a {kind} of this name: <a href={objectHash(catalog, name)}>{name}</a></p>)}
      <p><a href={toHash("")}>Search all queries, views and tables</a></p>
    </>
  );
}
