import { unlessMissing } from '../../../base/unless-missing.js';
import { type Extent, joinExtents, subtractExtents } from '../../../tensor/extent.js';
import { jsonOrNone } from '../../../texts/json.js';
import { isObject } from '../../checkpoint/json.js';
import { readSmallFile } from '../../checkpoint/small-file.js';

/** The content of a file as its source names it. */
export interface FileContent {
  /** A name that no other content has: the ETag without quotes. */
  readonly etag: string;
  /** In hexadecimal; files in Git itself have none. */
  readonly sha256?: string;
}

/** A file of a model, as its source lists it. */
export interface ListedFile extends FileContent {
  readonly name: string;
  readonly bytes: number;
}

/** True for what may name a content, and with it the file of a cache that has it. */
export const isContentName = (value: unknown): value is string =>
  typeof value === 'string' && /^[\w-]{1,128}$/.test(value);

/** A file of which some byte ranges are here. */
export interface RangeRecord extends FileContent {
  /** Length of the whole file. */
  readonly bytes: number;
  /** Ranges that are here and durable, ascending and disjoint. */
  readonly present: readonly Extent[];
  /** The ETag that the server of the bytes gave with them, which need not be the hub's. */
  readonly served?: string;
}

// A record is lines of JSON: an object with the content, then `[begin,end]` for each range and
// `{"served": etag}`. Lines are only appended, each after its bytes were fdatasynced.

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const parseContent = (value: unknown): (FileContent & { bytes: number }) | undefined => {
  const { bytes, etag, sha256 } = isObject(value) ? value : {};
  if (!isCount(bytes) || !isContentName(etag)) return undefined;
  // The hub names a file of large-file storage by its SHA-256.
  if (sha256 !== undefined && sha256 !== etag) return undefined;
  return { bytes, etag, ...(sha256 === undefined ? {} : { sha256: etag }) };
};

/** Parses a record's text; undefined where its first line is not whole, which counts as no record. */
export const parseRangeRecord = (text: string): RangeRecord | undefined => {
  const [first = '', ...lines] = text.split('\n');
  // A line that a crash truncated, or a block of zeros, is none: its range is fetched again.
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

/** True if a record has all of its file. */
export const isComplete = ({ bytes, present }: Pick<RangeRecord, 'bytes' | 'present'>): boolean =>
  subtractExtents([{ begin: 0, end: bytes }], present).length === 0;

/** The first line of a record. */
export const contentLine = ({ etag, sha256 }: FileContent, bytes: number): string =>
  `${JSON.stringify({ bytes, etag, ...(sha256 === undefined ? {} : { sha256 }) })}\n`;

/** Lines of ranges. */
export const rangeLines = (ranges: readonly Extent[]): string =>
  joinExtents(ranges)
    .map(({ begin, end }) => `[${begin},${end}]\n`)
    .join('');

export const servedLine = (served: string): string => `${JSON.stringify({ served })}\n`;

/** Reads a record; undefined where there is none. @throws LayerloomError READ_FAILED */
export const readRangeRecord = async (path: string): Promise<RangeRecord | undefined> => {
  const text = await unlessMissing(path, readSmallFile(path));
  return text === undefined ? undefined : parseRangeRecord(text.toString());
};
