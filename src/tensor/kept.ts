/** A 1 or 0 for each row, as bits from the lowest on, in base64. */
export const encodeKept = (kept: Uint8Array): string => {
  const bits = new Uint8Array(Math.ceil(kept.length / 8));
  for (const [row, keeps] of kept.entries())
    if (keeps !== 0) bits[row >> 3] = (bits[row >> 3] ?? 0) | (1 << (row & 7));
  return Buffer.from(bits).toString('base64');
};

export const decodeKept = (text: string, rows: number): Uint8Array => {
  const bits = Buffer.from(text, 'base64');
  return Uint8Array.from({ length: rows }, (_, row) => ((bits[row >> 3] ?? 0) >> (row & 7)) & 1);
};

/** Whether a text is bits for so many rows, as `encodeKept` spells them. */
export const isKept = (text: string, rows: number): boolean => {
  const bits = Buffer.from(text, 'base64');
  return bits.length === Math.ceil(rows / 8) && bits.toString('base64') === text;
};
