// Search as in engines/duckdb/read/search.py: all words must match; a name counts more than a title.

import type { Catalog, Entry } from "./contract";

export function search(catalog: Catalog, text: string): Entry[] {
  const wanted = split(text).filter((word) => !catalog.stop_words.includes(word));
  const synonyms = wanted.map((word) => synonymsOf(catalog, word));
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

function synonymsOf(catalog: Catalog, word: string): string[] {
  const groups = catalog.synonyms.map((group) => group.split(" "));
  const group = groups.find((words) => words.includes(word)) ?? groups.find((words) => words.includes(stem(word)));
  return (group ?? [word]).map(stem);
}

const split = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
const stem = (word: string): string => (word.length > 3 ? word.replace(/s$/, "") : word);
const stems = (text: string): Set<string> => new Set(split(text).map(stem));
