import type { Cell } from "./contract";

/** A value with thousands separators, about seven digits and at most four decimals. */
export function formatCell(value: Cell): string {
  if (value === null) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  if (Math.abs(value) < 0.001) return value.toPrecision(4);
  const digits = Math.trunc(Math.abs(value)).toString().length;
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.max(1, Math.min(4, 7 - digits)) });
}

export const formatCount = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;

export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
