import { render } from "preact";
import { App } from "./app";
import { openEngine } from "./engines/open";
import "./style.css";

const page = document.getElementById("page")!;

openEngine()
  .then(async (engine) => {
    // For the browser's console.
    Object.assign(globalThis, { tracehouse: engine });
    render(<App engine={engine} catalog={await engine.list()} />, page);
  })
  .catch((error: Error) => render(<p role="alert" class="error">Cannot open the warehouse: {error.message}</p>, page));
