// The editor of the SQL console. It lives in a shadow root, where CodeMirror's styles need no inline style.

import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, sql } from "@codemirror/lang-sql";
import { defaultHighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";

export interface Editor {
  read: () => string;
  write: (text: string) => void;
  close: () => void;
}

export function openEditor(parent: HTMLElement, text: string, schema: Record<string, Record<string, string[]>>, run: () => void): Editor {
  const root = parent.attachShadow({ mode: "open" });
  const runKey = { key: "Mod-Enter", run: () => (run(), true) };
  const view = new EditorView({
    root,
    parent: root as unknown as Element,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        autocompletion(),
        syntaxHighlighting(defaultHighlightStyle),
        sql({ dialect: PostgreSQL, schema }),
        keymap.of([runKey, ...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": "SQL statement" }),
        EditorView.lineWrapping,
      ],
    }),
  });
  return {
    read: () => view.state.doc.toString(),
    write: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    close: () => view.destroy(),
  };
}
