import { render } from "preact";
import { App } from "./app";
import { openEngine } from "./engines/open";
import { Problem } from "./parts/problem";
import "./style.css";

const page = document.getElementById("page")!;

openEngine()
  .then(async (engine) => {
    // For the browser's console.
    Object.assign(globalThis, { tracehouse: engine });
    const catalog = await engine.list();
    page.replaceChildren();
    render(<App engine={engine} catalog={catalog} />, page);
  })
  .catch((error: Error) => {
    page.replaceChildren();
    render(<Problem text={`Cannot open the warehouse: ${error.message}`} />, page);
  });
