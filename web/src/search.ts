// Search and close matches as in engines/duckdb/read/search.py: a name counts more than a title.

import type { Catalog, ColumnMeaning, Entry } from "./contract";

type Words = Pick<Entry, "name" | "title" | "words">;

export function search(catalog: Catalog, text: string): Entry[] {
  const score = scorer(catalog);
  const wanted = split(text).filter((word) => !catalog.stop_words.includes(word));
  const scored = catalog.objects.map((entry) => ({ entry, scores: wanted.map(score(entry)) }));
  return scored
    .filter(({ scores }) => scores.every(Boolean))
    .map(({ entry, scores }) => ({ entry, score: sum(scores) }))
    .sort((left, right) => right.score - left.score)
    .map(({ entry }) => entry);
}

/** The columns whose name, or else meaning, has the words of another name or their synonyms. */
export function findColumns(catalog: Catalog, name: string, columns: ColumnMeaning[]): string[] {
  const score = scorer(catalog);
  const known = [...columns.flatMap(({ column }) => split(column)), ...catalog.synonyms.flatMap(split)];
  // A word may be cut off or misspelt, as in dur.
  const words = split(name).map((word) => known.find((whole) => whole.startsWith(word)) ?? similarNames(word, known, 0.75)[0] ?? word);
  const scores = columns.map(({ column, meaning }) => sum(words.map(score({ name: column, title: meaning, words: [] }))));
  const best = Math.max(...scores);
  return columns.filter((_, place) => best > 0 && scores[place] === best).map(({ column }) => column);
}

/** The names that are spelled similarly, closest first. Names are compared with and without the schema. */
export function similarNames(name: string, names: string[], cutoff: number): string[] {
  const last = (full: string): string => full.split(".").at(-1)!;
  return [...new Set(names)]
    .map((known) => ({ known, score: Math.max(likeness(name, known), Math.min(likeness(last(name), last(known)), 0.99)) }))
    .filter(({ score }) => score >= cutoff)
    .sort((left, right) => right.score - left.score)
    .map(({ known }) => known);
}

/** The share of the letters of two texts that are in both, in the same order. */
function likeness(left: string, right: string): number {
  let before = new Array<number>(right.length + 1).fill(0);
  for (const letter of left) {
    const row = [0];
    for (let place = 0; place < right.length; place++) {
      row.push(letter === right[place] ? before[place]! + 1 : Math.max(before[place + 1]!, row[place]!));
    }
    before = row;
  }
  return (2 * before[right.length]!) / (left.length + right.length || 1);
}

/** Returns the score of a word's match in an entry, 0 if it does not match. A word also finds its synonyms. */
function scorer(catalog: Catalog): (entry: Words) => (word: string) => number {
  const stem = (word: string): string => stemOf(catalog.endings, word);
  const stems = (words: string): Set<string> => new Set(split(words).map(stem));
  const groups = catalog.synonyms.map((group) => [...stems(group)]);
  return (entry) => {
    const name = stems(entry.name);
    const title = stems(entry.title);
    return (word) => {
      const same = groups.find((group) => group.includes(stem(word))) ?? [stem(word)];
      return same.some((one) => name.has(one)) ? 4 : same.some((one) => title.has(one)) ? 2 : same.some((one) => entry.words.includes(one)) ? 1 : 0;
    };
  };
}

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

const split = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];

/** A word without its usual endings, where four letters are left. */
function stemOf(endings: string[], word: string): string {
  const ending = endings.find((one) => word.endsWith(one) && word.length - one.length >= 4) ?? "";
  const stem = word.slice(0, word.length - ending.length);
  return stem.length > 4 ? stem.replace(/e$/, "") : stem;
}
