import { createHash } from 'node:crypto';

/** The last key of a `layerloom.json`: a SHA-256 of all that it says before. An edit shows by it; it is no signature. */
export const sealName = 'recordSha256';

/** Returns the text of a record, with its seal. */
export const sealedText = (record: Readonly<Record<string, unknown>>): string => {
  const seal = createHash('sha256').update(JSON.stringify(record)).digest('hex');
  return `${JSON.stringify({ ...record, [sealName]: seal }, null, 2)}\n`;
};
