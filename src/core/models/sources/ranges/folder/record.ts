import { unlessMissing } from '../../../../base/files/unless-missing.js';
import { isCount } from '../../../../base/is-count.js';
import { type Extent, joinExtents, subtractExtents } from '../../../../tensor/extent.js';
import { jsonOrNone } from '../../../../texts/json.js';
import { isObject } from '../../../checkpoint/files/json.js';
import { readSmallFile } from '../../../checkpoint/files/small-file.js';

export interface FileContent {
  /** A unique name of the content: the ETag without quotes. */
  readonly etag: string;
  /** SHA-256 in hexadecimal; absent for files that the hub keeps in Git. */
  readonly sha256?: string;
}

export interface ListedFile extends FileContent {
  readonly name: string;
  readonly bytes: number;
}

/** True for a valid content name, which is also a file name in caches. */
export const isContentName = (value: unknown): value is string =>
  typeof value === 'string' && /^[\w-]{1,128}$/.test(value);

export interface RangeRecord extends FileContent {
  readonly bytes: number;
  /** Ranges synced to disk, ascending without overlaps. */
  readonly present: readonly Extent[];
  /** The file server's ETag, which may differ from the hub's. */
  readonly served?: string;
}

// A record is lines of JSON: an object for the content, then `[begin,end]` per range, and `{"served": etag}`.
// Lines are only appended, after fdatasync of their bytes.

const parseContent = (value: unknown): (FileContent & { bytes: number }) | undefined => {
  const { bytes, etag, sha256 } = isObject(value) ? value : {};
  if (!isCount(bytes) || !isContentName(etag)) return undefined;
  // In large-file storage, the ETag is the SHA-256.
  if (sha256 !== undefined && sha256 !== etag) return undefined;
  return { bytes, etag, ...(sha256 === undefined ? {} : { sha256: etag }) };
};

/** Parses a record; undefined if its first line is incomplete. */
export const parseRangeRecord = (text: string): RangeRecord | undefined => {
  const [first = '', ...lines] = text.split('\n');
  // Ignores truncated lines and blocks of zeros, which a crash may leave; their ranges are fetched again.
  const content = parseContent(jsonOrNone(first));
  if (content === undefined) return undefined;
  const present: Extent[] = [];
  let served: string | undefined;
  for (const value of lines.map((line) => jsonOrNone(line))) {
    if (Array.isArray(value)) {
      const [begin, end] = value;
      if (isCount(begin) && isCount(end) && begin < end && end <= content.bytes) present.push({ begin, end });
    } else if (isObject(value) && typeof value['served'] === 'string') served = value['served'];
  }
  return { ...content, present: joinExtents(present), ...(served === undefined ? {} : { served }) };
};

export const isComplete = ({ bytes, present }: Pick<RangeRecord, 'bytes' | 'present'>): boolean =>
  subtractExtents([{ begin: 0, end: bytes }], present).length === 0;

export const contentLine = ({ etag, sha256 }: FileContent, bytes: number): string =>
  `${JSON.stringify({ bytes, etag, ...(sha256 === undefined ? {} : { sha256 }) })}\n`;

export const rangeLines = (ranges: readonly Extent[]): string =>
  joinExtents(ranges)
    .map(({ begin, end }) => `[${begin},${end}]\n`)
    .join('');

export const servedLine = (served: string): string => `${JSON.stringify({ served })}\n`;

/** Reads a record; undefined if missing. @throws READ_FAILED */
export const readRangeRecord = async (path: string): Promise<RangeRecord | undefined> => {
  const text = await unlessMissing(path, readSmallFile(path));
  return text === undefined ? undefined : parseRangeRecord(text.toString());
};
