import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { outputFormat } from '../checkpoint/formats.js';
import { LayerloomError } from '../errors.js';

const { extension } = outputFormat;

/**
 * Where things are in a store:
 *
 * - `layerloom-store.json`: says that this is a store, and of which format
 * - `shards/ab/KEY.safetensors`: a shard, whole and read-only; `KEY.json` beside it is its record, without which it does not count
 * - `claims/KEY`: who computes a shard; `KEY.next` who takes over the claim of a process that died
 * - `partial/`: shards and records being written, and shards being removed
 * - `experiments/`: who links shards in ways that the file system does not count
 * - `clock`: touched to learn the time of the file system
 */
export const pathsOf = (root: string) => {
  const shardDirectory = (key: string) => join(root, 'shards', key.slice(0, 2));
  const partial = (key: string, token: string, what: string) =>
    join(root, 'partial', `${key}.${token}${what}`);
  return {
    root,
    marker: join(root, markerName),
    clock: join(root, 'clock'),
    shards: join(root, 'shards'),
    claims: join(root, 'claims'),
    partials: join(root, 'partial'),
    experiments: join(root, 'experiments'),
    shardDirectory,
    shard: (key: string) => join(shardDirectory(key), `${key}${extension}`),
    record: (key: string) => join(shardDirectory(key), `${key}.json`),
    claim: (key: string) => join(root, 'claims', key),
    /** Files of one claim: `token` is the claim's own. */
    partialShard: (key: string, token: string) => partial(key, token, extension),
    partialRecord: (key: string, token: string) => partial(key, token, '.json'),
    removedShard: (key: string, token: string) => partial(key, token, `.removed${extension}`),
    removedRecord: (key: string, token: string) => partial(key, token, '.removed.json'),
    /** Of a directory on a host: the same path is another directory elsewhere. */
    experiment: (host: string, directory: string) =>
      join(
        root,
        'experiments',
        `${createHash('sha256').update(`${host}\0${directory}`).digest('hex').slice(0, 32)}.json`,
      ),
  };
};

export type StorePaths = ReturnType<typeof pathsOf>;

export const markerName = 'layerloom-store.json';

const keyPattern = /^[0-9a-f]{16,128}$/;

export const isKey = (text: string): boolean => keyPattern.test(text);

const ends = `([.]${extension.slice(1)}|[.]json)$`;
const shardName = new RegExp(`^(?<key>.+)${ends}`);
const partialName = new RegExp(`^(?<key>[0-9a-f]+)[.](?<token>[0-9a-f-]{36})(?<removed>[.]removed)?${ends}`);

/** The key in the name of a shard or a record; undefined for other names. */
export const keyInName = (name: string): string | undefined => {
  const key = shardName.exec(name)?.groups?.['key'];
  return key !== undefined && isKey(key) ? key : undefined;
};

/** A name in `partial/`; undefined for other names. */
export const parsePartialName = (
  name: string,
): { key: string; token: string; isRemoved: boolean } | undefined => {
  const { key, token, removed } = partialName.exec(name)?.groups ?? {};
  return key === undefined || token === undefined
    ? undefined
    : { key, token, isRemoved: removed !== undefined };
};

/** Keys become file names. @throws LayerloomError INVALID_PARAMETER */
export const checkKey = (key: string): string => {
  if (typeof key !== 'string' || !isKey(key))
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'key',
      value: key,
      expected: 'a hash in hexadecimal, lower case',
    });
  return key;
};
