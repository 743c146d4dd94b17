import { createHash } from 'node:crypto';

/** The last key of `layerloom.json`: a SHA-256 of everything before it. Detects edits; not a signature. */
export const sealName = 'recordSha256';

export const sealedText = (record: Readonly<Record<string, unknown>>): string => {
  const seal = createHash('sha256').update(JSON.stringify(record)).digest('hex');
  return `${JSON.stringify({ ...record, [sealName]: seal }, null, 2)}\n`;
};
