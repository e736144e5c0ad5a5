import { useEffect, useRef } from "preact/hooks";
import type { PageProps } from "./contract";
import { ComparePage } from "./pages/compare";
import { ConsolePage } from "./pages/console";
import { HomePage } from "./pages/home";
import { ObjectPage } from "./pages/object";
import { QueryPage } from "./pages/query";
import { Loaded } from "./parts/loaded";
import { toHash, useRoute } from "./route";

export function App(shared: PageProps) {
  const route = useRoute();
  const heading = useRef<HTMLElement>(null);
  const place = `${route.page}/${route.name}`;
  useEffect(() => {
    document.title = route.name ? `${route.name} – Tracehouse` : "Tracehouse";
    scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, [place]);
  const pages = {
    query: () => <QueryPage key={route.name} {...shared} name={route.name} given={route.texts} />,
    object: () => <ObjectPage key={route.name} {...shared} name={route.name} />,
    compare: () => <ComparePage {...shared} texts={route.texts} />,
    sql: () => <ConsolePage {...shared} statement={route.texts.statement ?? ""} />,
  };
  const show = pages[route.page as keyof typeof pages] ?? (() => <HomePage {...shared} words={route.texts.search ?? ""} />);
  return (
    <>
      <header>
        <nav aria-label="Pages">
          <a href={toHash("")} class="brand">Tracehouse</a>
          <a href={toHash("compare")}>Compare</a>
          <a href={toHash("sql")}>SQL</a>
        </nav>
        <Loaded engine={shared.engine} />
      </header>
      <main ref={heading} tabIndex={-1}>
        {show()}
      </main>
    </>
  );
}
