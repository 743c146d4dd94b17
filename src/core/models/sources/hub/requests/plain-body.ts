import type { Extent } from '../../../../tensor/extent.js';

// Requests to the API accept compressed JSON. Requests for files need bytes as stored: they are written at
// their offsets, and the hub's hash is of the whole file.

type Headers = Readonly<Record<string, string>>;

export const plainRange = ({ begin, end }: Extent): Headers => ({
  range: `bytes=${begin}-${end - 1}`,
  'accept-encoding': 'identity',
});

const codingsOf = (value: string): string[] =>
  value
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '');

/** Headers that show a transformed body, each with a test for harmless values. */
const leavesPlain: Readonly<Record<string, (value: string) => boolean>> = {
  'content-encoding': (value) => codingsOf(value).every((coding) => coding === 'identity'),
  'transfer-encoding': (value) => codingsOf(value).every((coding) => /^(chunked|identity)$/.test(coding)),
  // A body of several ranges, each with its own headers.
  'content-type': (value) => !/^\s*multipart\//i.test(value),
  // Code 214 means that a proxy transformed the body.
  warning: (value) => !/(^|,)\s*214\b/.test(value),
};

/** Returns the header that shows a transformed body, such as `content-encoding: gzip`. */
export const alteredBy = (headers: Headers): string | undefined => {
  for (const [name, isPlain] of Object.entries(leavesPlain)) {
    const value = headers[name];
    if (value !== undefined && !isPlain(value)) return `${name}: ${value}`;
  }
  return undefined;
};

export interface BodyRange extends Extent {
  readonly total?: number;
}

const contentRange = /^bytes (?<begin>\d+)-(?<last>\d+)\/(?<total>\d+|\*)$/;

/** Parses `Content-Range`; undefined if missing, invalid, or inconsistent with `Content-Length`. */
export const bodyRange = (headers: Headers): BodyRange | undefined => {
  const { begin, last, total } = contentRange.exec(headers['content-range'] ?? '')?.groups ?? {};
  const range = { begin: Number(begin), end: Number(last) + 1 };
  if (!(range.begin < range.end && Number.isSafeInteger(range.end))) return undefined;
  const length = headers['content-length'];
  if (length !== undefined && Number(length) !== range.end - range.begin) return undefined;
  return total === undefined || total === '*' ? range : { ...range, total: Number(total) };
};
