import type { Extent } from '../../../../tensor/extent.js';

// Requests are of two kinds. Those to the API ask for JSON, which a server may compress. Those for bytes of a file ask
// for them as they are stored: they are written at their place in the file, and only a whole file has a hash.

type Headers = Readonly<Record<string, string>>;

/** Request headers for bytes of a file as they are stored. */
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

/** Headers that can say that a body is not bytes as they are stored, and the values that do not say so. */
const leavesPlain: Readonly<Record<string, (value: string) => boolean>> = {
  'content-encoding': (value) => codingsOf(value).every((coding) => coding === 'identity'),
  'transfer-encoding': (value) => codingsOf(value).every((coding) => /^(chunked|identity)$/.test(coding)),
  // Several ranges, each behind headers of its own.
  'content-type': (value) => !/^\s*multipart\//i.test(value),
  // 214: a proxy has transformed the body.
  warning: (value) => !/(^|,)\s*214\b/.test(value),
};

/** Returns the header that says that a body is not bytes as they are stored, such as `content-encoding: gzip`. */
export const alteredBy = (headers: Headers): string | undefined => {
  for (const [name, isPlain] of Object.entries(leavesPlain)) {
    const value = headers[name];
    if (value !== undefined && !isPlain(value)) return `${name}: ${value}`;
  }
  return undefined;
};

/** The range that the body of a 206 has. */
export interface BodyRange extends Extent {
  /** Length of the whole file, where the server says it. */
  readonly total?: number;
}

const contentRange = /^bytes (?<begin>\d+)-(?<last>\d+)\/(?<total>\d+|\*)$/;

/** Reads `Content-Range`; undefined where it is missing or no range, or where `Content-Length` is another length. */
export const bodyRange = (headers: Headers): BodyRange | undefined => {
  const { begin, last, total } = contentRange.exec(headers['content-range'] ?? '')?.groups ?? {};
  const range = { begin: Number(begin), end: Number(last) + 1 };
  if (!(range.begin < range.end && Number.isSafeInteger(range.end))) return undefined;
  const length = headers['content-length'];
  if (length !== undefined && Number(length) !== range.end - range.begin) return undefined;
  return total === undefined || total === '*' ? range : { ...range, total: Number(total) };
};
