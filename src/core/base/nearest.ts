/** Largest acceptable edit distance. */
const reach = (a: string, b: string): number => Math.min(3, Math.floor(Math.max(a.length, b.length) / 3));

/** Maximum length of a word that is compared; all keys are shorter. */
const longest = 64;

/** Returns the most similar candidate, if any is similar enough. Ignores case, `_` and `-`. */
export const nearest = (word: string, candidates: Iterable<string>): string | undefined => {
  if (word.length > longest) return undefined;
  const wanted = plain(word);
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const other = plain(candidate);
    const most = reach(wanted, other);
    if (Math.abs(wanted.length - other.length) > most) continue;
    const distance = editDistance(wanted, other);
    if (distance <= most && distance < (best?.distance ?? Number.POSITIVE_INFINITY))
      best = { candidate, distance };
  }
  return best?.candidate;
};

const plain = (word: string): string => word.toLowerCase().replace(/[_-]/g, '');

const editDistance = (a: string, b: string): number => {
  let [former, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = at(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swap =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? at(former, j - 2) + 1
          : Number.POSITIVE_INFINITY;
      next.push(Math.min(at(row, j) + 1, at(next, j - 1) + 1, change, swap));
    }
    [former, row] = [row, next];
  }
  return at(row, b.length);
};

const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY;
