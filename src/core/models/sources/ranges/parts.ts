import { bytesOf, type Extent, joinExtents, subtractExtents } from '../../../tensor/extent.js';

export interface PartlyNeeded {
  readonly bytes: number;
  readonly present: readonly Extent[];
  readonly needed: readonly Extent[];
}

/**
 * Maximum extra bytes, as shares of the needed ones: to complete files, and to close gaps between requests.
 */
const forWholeFiles = 0.004;
const forGaps = 0.001;

/** Maximum gap between needed ranges that is fetched too. */
const longestGap = 64 * 1024;

const partBytes = 16 * 1024 * 1024;

/**
 * Decides which bytes to fetch: needed ones that are missing; the rest of nearly complete files, so that
 * other programs can use them; and short gaps. At most 0.5 % are extra.
 *
 * @returns extents by file, ascending, without overlaps
 */
export const decideExtents = (files: readonly PartlyNeeded[]): Extent[][] => {
  const missing = files.map(({ needed, present }) => subtractExtents(needed, present));
  const total = missing.reduce((bytes, extents) => bytes + bytesOf(extents), 0);
  return joinGaps(completeFiles(files, missing, total * forWholeFiles), total * forGaps);
};

const completeFiles = (
  files: readonly PartlyNeeded[],
  missing: readonly (readonly Extent[])[],
  budget: number,
): (readonly Extent[])[] => {
  const wholes = files.map(({ bytes, present }) => subtractExtents([{ begin: 0, end: bytes }], present));
  const chosen = [...missing];
  let rest = budget;
  const byExtra = missing
    .map((extents, index) => ({ index, whole: wholes[index] ?? [], extra: 0, extents }))
    .map((one) => ({ ...one, extra: bytesOf(one.whole) - bytesOf(one.extents) }))
    .filter(({ extents }) => extents.length > 0)
    .sort((a, b) => a.extra - b.extra);
  for (const { index, whole, extra } of byExtra) {
    if (extra > rest) break;
    rest -= extra;
    chosen[index] = whole;
  }
  return chosen;
};

const joinGaps = (extents: readonly (readonly Extent[])[], budget: number): Extent[][] => {
  const gaps = extents
    .flatMap((ofFile, file) => gapsOf(ofFile).map((gap) => ({ file, gap, bytes: gap.end - gap.begin })))
    .filter(({ bytes }) => bytes <= longestGap)
    .sort((a, b) => a.bytes - b.bytes);
  const joined = extents.map((ofFile) => [...ofFile]);
  let rest = budget;
  for (const { file, gap, bytes } of gaps) {
    if (bytes > rest) break;
    rest -= bytes;
    joined[file]?.push(gap);
  }
  return joined.map(joinExtents);
};

const gapsOf = (extents: readonly Extent[]): Extent[] =>
  extents.slice(1).flatMap(({ begin }, index) => {
    const before = extents[index];
    return before === undefined ? [] : [{ begin: before.end, end: begin }];
  });

export const cutIntoParts = (extents: readonly Extent[], most = partBytes): Extent[] =>
  extents.flatMap(({ begin, end }) =>
    Array.from({ length: Math.ceil((end - begin) / most) }, (_, index) => ({
      begin: begin + index * most,
      end: Math.min(end, begin + (index + 1) * most),
    })),
  );
