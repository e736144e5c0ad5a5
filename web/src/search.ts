// Search as in engines/duckdb/read/search.py: all words must match; a name counts more than a title.

import type { Catalog, Entry } from "./contract";

export function search(catalog: Catalog, text: string): Entry[] {
  const stem = (word: string): string => stemOf(catalog.endings, word);
  const stems = (words: string): Set<string> => new Set(split(words).map(stem));
  const groups = catalog.synonyms.map((group) => [...stems(group)]);
  const wanted = split(text).filter((word) => !catalog.stop_words.includes(word)).map(stem);
  const synonyms = wanted.map((word) => groups.find((group) => group.includes(word)) ?? [word]);
  const scored = catalog.objects.map((entry) => {
    const name = stems(entry.name);
    const title = stems(entry.title);
    const scores = synonyms.map((words) =>
      words.some((word) => name.has(word)) ? 4 : words.some((word) => title.has(word)) ? 2 : words.some((word) => entry.words.includes(word)) ? 1 : 0,
    );
    return { entry, isMatch: scores.every(Boolean), score: scores.reduce<number>((sum, score) => sum + score, 0) };
  });
  return scored
    .filter(({ isMatch }) => isMatch)
    .sort((left, right) => right.score - left.score)
    .map(({ entry }) => entry);
}

const split = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];

/** A word without its usual endings, where four letters are left. */
function stemOf(endings: string[], word: string): string {
  const ending = endings.find((one) => word.endsWith(one) && word.length - one.length >= 4) ?? "";
  const stem = word.slice(0, word.length - ending.length);
  return stem.length > 4 ? stem.replace(/e$/, "") : stem;
}
