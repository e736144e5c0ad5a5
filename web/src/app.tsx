import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { PageProps } from "./contract";
import { ComparePage } from "./pages/compare";
import { ConsolePage } from "./pages/console";
import { HomePage } from "./pages/home";
import { NotFoundPage } from "./pages/notfound";
import { ObjectPage } from "./pages/object";
import { QueryPage } from "./pages/query";
import { VerifyPage } from "./pages/verify";
import { Loaded } from "./parts/loaded";
import { toHash, useRoute } from "./route";

const TITLES: Record<string, string> = { compare: "Compare", sql: "SQL", verify: "Published figures" };

export function App(shared: PageProps) {
  const route = useRoute();
  const heading = useRef<HTMLElement>(null);
  const place = route.name ? `${route.page}/${route.name}` : route.page;
  const ofObjects: Record<string, () => ComponentChildren> = {
    query: () => <QueryPage key={route.name} {...shared} name={route.name} given={route.texts} />,
    object: () => <ObjectPage key={route.name} {...shared} name={route.name} />,
  };
  const others: Record<string, () => ComponentChildren> = {
    "": () => <HomePage key={route.texts.search} {...shared} words={route.texts.search ?? ""} />,
    compare: () => <ComparePage {...shared} texts={route.texts} />,
    sql: () => <ConsolePage {...shared} statement={route.texts.statement ?? ""} />,
    verify: () => <VerifyPage {...shared} texts={route.texts} />,
  };
  const pages = new Map(Object.entries(route.name ? ofObjects : others));
  const show = pages.get(route.page);
  useEffect(() => {
    document.title = [show ? route.name || TITLES[route.page] : "Page not found", "Tracehouse"].filter(Boolean).join(" – ");
    scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, [place]);
  return (
    <>
      <header>
        <nav aria-label="Pages">
          <a href={toHash("")} class="brand">Tracehouse</a>
          <a href={toHash("compare")}>Compare</a>
          <a href={toHash("verify")}>Verify</a>
          <a href={toHash("sql")}>SQL</a>
        </nav>
        <Loaded engine={shared.engine} />
      </header>
      <main ref={heading} tabIndex={-1}>
        {show ? show() : <NotFoundPage catalog={shared.catalog} address={place} />}
      </main>
    </>
  );
}
