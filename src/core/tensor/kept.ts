import { itemAt } from '../base/errors/lookup.js';

/** Encodes a flag per row (0 or 1) as a bit set in base64, lowest bit first. */
export const encodeKept = (kept: Uint8Array): string => {
  const bits = new Uint8Array(Math.ceil(kept.length / 8));
  for (const [row, keeps] of kept.entries())
    if (keeps !== 0) bits[row >> 3] = itemAt(bits, row >> 3) | (1 << (row & 7));
  return Buffer.from(bits).toString('base64');
};

/** Returns a byte per row; rows beyond the text are 0. */
export const decodeKept = (text: string, rows: number): Uint8Array => {
  const bits = Buffer.from(text, 'base64');
  return Uint8Array.from({ length: rows }, (_, row) => ((bits[row >> 3] ?? 0) >> (row & 7)) & 1);
};

/** True if `encodeKept` could return this text. */
export const isKept = (text: string, rows: number): boolean => {
  const bits = Buffer.from(text, 'base64');
  return bits.length === Math.ceil(rows / 8) && bits.toString('base64') === text;
};
