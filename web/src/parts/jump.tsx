import type { ComponentChildren } from "preact";

/** A link to a part of the page: the hash of the address has the page itself. */
export function Jump({ to, children }: { to: string; children: ComponentChildren }) {
  const jump = (): void => {
    const part = document.getElementById(to);
    part?.scrollIntoView();
    part?.querySelector<HTMLElement>("input, select")?.focus({ preventScroll: true });
  };
  return <button type="button" class="link" onClick={jump}>{children}</button>;
}
