export interface Extent {
  readonly begin: number;
  readonly end: number;
}

/** Joins ranges that overlap or touch. */
export const joinExtents = (extents: readonly Extent[]): Extent[] => {
  const joined: Extent[] = [];
  for (const { begin, end } of [...extents].sort((a, b) => a.begin - b.begin)) {
    if (begin === end) continue;
    const last = joined.at(-1);
    if (last !== undefined && begin <= last.end)
      joined[joined.length - 1] = { begin: last.begin, end: Math.max(last.end, end) };
    else joined.push({ begin, end });
  }
  return joined;
};

/** Returns the parts of ranges that are not present, ascending without overlaps. */
export const subtractExtents = (extents: readonly Extent[], present: readonly Extent[]): Extent[] => {
  const rest: Extent[] = [];
  const taken = joinExtents(present);
  let next = 0;
  for (const { begin, end } of joinExtents(extents)) {
    while ((taken[next]?.end ?? Number.POSITIVE_INFINITY) <= begin) next += 1;
    let reached = begin;
    for (let index = next; reached < end; index += 1) {
      const hole = taken[index];
      if (hole === undefined || hole.begin >= end) {
        rest.push({ begin: reached, end });
        break;
      }
      if (hole.begin > reached) rest.push({ begin: reached, end: hole.begin });
      reached = Math.max(reached, hole.end);
    }
  }
  return rest;
};

export const bytesOf = (extents: readonly Extent[]): number =>
  extents.reduce((bytes, { begin, end }) => bytes + end - begin, 0);
