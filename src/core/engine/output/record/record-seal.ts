import { createHash } from 'node:crypto';
import { keptValue } from '../../../base/way.js';

/** Last key of `layerloom.json`: the SHA-256 of all before it. Detects edits, but proves no author. */
export const sealName = 'recordSha256';

export const sealedText = (record: Readonly<Record<string, unknown>>): string => {
  const seal = createHash('sha256').update(JSON.stringify(record, keptValue)).digest('hex');
  return `${JSON.stringify({ ...record, [sealName]: seal }, keptValue, 2)}\n`;
};
