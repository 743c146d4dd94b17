import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { writer } from '../../../core/models/checkpoint/containers/containers.js';
import { storeMarkerName } from '../../../core/models/checkpoint/files/file-names.js';

const { extension } = writer;

/**
 * The layout of a store:
 *
 * - `layerloom-store.json`: marks a store and has the layout's version
 * - `shards/ab/KEY.safetensors`: a complete, read-only shard; without its record `KEY.json` it does not exist
 * - `claims/KEY`: held by the process that computes a shard; `KEY.next` is held while replacing a dead claim
 * - `partial/`: shards and records being written, and shards being removed
 * - `experiments/`: registrations, for links that the file system does not count
 * - `clock`: written to read the file system's time
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
    /** Paths that the claim with this token writes. */
    partialShard: (key: string, token: string) => partial(key, token, extension),
    partialRecord: (key: string, token: string) => partial(key, token, '.json'),
    removedShard: (key: string, token: string) => partial(key, token, `.removed${extension}`),
    removedRecord: (key: string, token: string) => partial(key, token, '.removed.json'),
    /** Returns the path of a registration, which has the host, as paths mean other directories elsewhere. */
    experiment: (host: string, directory: string) =>
      join(
        root,
        'experiments',
        `${createHash('sha256').update(`${host}\0${directory}`).digest('hex').slice(0, 32)}.json`,
      ),
  };
};

export type StorePaths = ReturnType<typeof pathsOf>;

export const markerName = storeMarkerName;

const keyPattern = /^[0-9a-f]{16,128}$/;

export const isKey = (text: string): boolean => keyPattern.test(text);

const ends = `([.]${extension.slice(1)}|[.]json)$`;
const shardName = new RegExp(`^(?<key>.+)${ends}`);
const partialName = new RegExp(
  `^(?<key>[0-9a-f]{16,128})[.](?<token>[0-9a-f-]{36})(?<removed>[.]removed)?${ends}`,
);

/** Returns the key in a shard's file name; undefined for other files. */
export const keyInName = (name: string): string | undefined => {
  const key = shardName.exec(name)?.groups?.['key'];
  return key !== undefined && isKey(key) ? key : undefined;
};

export const parsePartialName = (
  name: string,
): { key: string; token: string; isRemoved: boolean } | undefined => {
  const { key, token, removed } = partialName.exec(name)?.groups ?? {};
  return key === undefined || token === undefined
    ? undefined
    : { key, token, isRemoved: removed !== undefined };
};

/**
 * Checks a key, which becomes a file name.
 *
 * @throws INVALID_PARAMETER
 */
export const checkKey = (key: string): string => {
  if (typeof key !== 'string' || !isKey(key))
    throw invalidParameter('key', key, 'a hash in hexadecimal, lower case');
  return key;
};
