import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { LayerloomError } from '../../../core/base/errors/errors.js';
import { isMissing } from '../../../core/base/files/unless-missing.js';
import type { FileIdentity } from '../../../core/models/checkpoint/checkpoint.js';
import { provenanceName } from '../../../core/models/checkpoint/files/file-names.js';
import { readJsonObject } from '../../../core/models/checkpoint/files/json.js';
import { observePath } from '../../../core/models/checkpoint/same/identity.js';
import { openModel } from '../../../core/models/reading/read-model.js';

export const weightsOfShards = (keys: readonly string[]): string =>
  createHash('sha256')
    .update(`shards\n${keys.join('\n')}\n`)
    .digest('hex');

export interface KeyedShard {
  readonly file: string;
  readonly key: string;
}

/**
 * Returns the shard keys of a merge; undefined unless `directory` has a complete merge of a batch.
 *
 * @throws READ_FAILED
 */
export const shardsOfMerge = async (directory: string): Promise<readonly KeyedShard[] | undefined> => {
  const found = await readJsonObject(join(directory, provenanceName)).catch((error: LayerloomError) => {
    if (error.code === 'READ_FAILED' && !isMissing(error.cause)) throw error;
    return undefined;
  });
  const shards = (found?.['shards'] ?? []) as readonly (Pick<KeyedShard, 'file'> & {
    readonly key?: string;
  })[];
  const keyed = shards.flatMap(({ file, key }) => (key === undefined ? [] : [{ file, key }]));
  return keyed.length > 0 && keyed.length === shards.length ? keyed : undefined;
};

/** @throws READ_FAILED */
export const weightsOfMerge = async (directory: string): Promise<string | undefined> => {
  const shards = await shardsOfMerge(directory);
  return shards === undefined ? undefined : weightsOfShards(shards.map(({ key }) => key));
};

/**
 * Hashes the identities of a model's files.
 *
 * @param identitiesOf default: identities computed now
 * @throws as `openModel` and `identitiesOf`
 */
export const weightsOfModel = async (model: string, identitiesOf = ownIdentities): Promise<string> => {
  const { files, adapted } = await openModel(model);
  const hash = createHash('sha256').update('files\n');
  for (const identity of await identitiesOf(files)) hash.update(`${identity}\n`);
  // An adapter's configuration is included, because it contains scales.
  if (adapted !== undefined) hash.update(`adapter ${adapted.config}\n`);
  return hash.digest('hex');
};

export type IdentitiesOf = (files: readonly FileIdentity[]) => Promise<readonly string[]>;

const ownIdentities: IdentitiesOf = (files) =>
  Promise.all(files.map(async (file) => (await observePath(file, 'samples')).hash));
