import { useState } from "preact/hooks";

/** A button that copies a text. */
export function Copy({ label, text }: { label: string; text: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" onClick={copy} title={text}>
      <span aria-live="polite">{isDone ? "Copied" : `Copy ${label}`}</span>
    </button>
  );
}
