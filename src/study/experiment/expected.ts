import { createHash } from 'node:crypto';
import { LayerloomError } from '../../core/base/errors.js';
import { invalidParameter } from '../../core/base/invalid-parameter.js';
import { version } from '../../core/base/version.js';

/** Hexadecimal digits of the text's SHA-256 that a stamp has. */
const digits = 16;

/**
 * Returns the stamp of an experiment's jobs, `VERSION:DIGITS`: the version of layerloom that writes them, and
 * the first 16 digits of the SHA-256 of the experiment's text. It names no path, since hosts and containers
 * may mount one file system in different places.
 */
export const stampOf = (text: string): string => `${version}:${digestOf(text)}`;

/**
 * Checks that a job runs by the version, and on the experiment, that it was written for. Shards are divided
 * among parts by the plan: parts of two plans compute some shards twice and others not at all.
 *
 * @param stamp as `stampOf` gives it
 * @param place the experiment's file, for messages
 * @throws LayerloomError JOBS_OUTDATED; INVALID_PARAMETER for text that is no stamp
 */
export const checkExpected = (stamp: string, text: string, place: string): void => {
  const groups = /^(?<of>[^\s:]+):(?<digest>[0-9a-f]{16})$/.exec(stamp)?.groups;
  if (groups === undefined)
    throw invalidParameter('expect', stamp, `VERSION:DIGITS, such as ${version}:${'0'.repeat(digits)}`);
  const { of: expected = '', digest = '' } = groups;
  const [found, foundVersion] = [digestOf(text), version];
  if (expected !== foundVersion)
    throw new LayerloomError('JOBS_OUTDATED', {
      file: place,
      version: foundVersion,
      expectedVersion: expected,
    });
  if (digest !== found)
    throw new LayerloomError('JOBS_OUTDATED', { file: place, digest: found, expectedDigest: digest });
};

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, digits);
