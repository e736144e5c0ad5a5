import { useEffect, useState } from "preact/hooks";
import type { Engine } from "../contract";

/** How much of the database was fetched so far, after each answer. */
export function Loaded({ engine }: { engine: Engine }) {
  const [text, setText] = useState("");
  useEffect(() => {
    const update = (): void => void engine.loaded().then(setText);
    addEventListener("answered", update);
    return () => removeEventListener("answered", update);
  }, [engine]);
  return text ? <p class="small loaded" role="status">Fetched {text}</p> : null;
}

export const reportAnswer = (): void => void dispatchEvent(new Event("answered"));
