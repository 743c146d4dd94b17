import { createHash } from 'node:crypto';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { version } from '../../core/base/files/version.js';

const digits = 16;

/**
 * Returns the stamp of an experiment's jobs, `VERSION:DIGITS`: layerloom's version, and 16 digits of the
 * SHA-256 of the experiment's text. The file's path does not count, because hosts may mount it elsewhere.
 */
export const stampOf = (text: string): string => `${version}:${digestOf(text)}`;

/**
 * Checks that a job has the version and experiment that it was planned with. Jobs of different plans would
 * compute some shards twice and others never.
 *
 * @param stamp from `stampOf`
 * @throws JOBS_OUTDATED; INVALID_PARAMETER for a malformed stamp
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
      reason: `layerloom ${expected} wrote this job, but this is layerloom ${foundVersion}`,
      remedy: 'run the job with that version, or write all jobs again with this one',
      version: foundVersion,
      expectedVersion: expected,
    });
  if (digest !== found)
    throw new LayerloomError('JOBS_OUTDATED', {
      file: place,
      reason: `it was changed since this job was written (its SHA-256 began with ${digest}, now with ${found})`,
      remedy: 'restore it, or write all jobs again',
      digest: found,
      expectedDigest: digest,
    });
};

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, digits);
