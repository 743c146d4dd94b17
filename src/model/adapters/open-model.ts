import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { layerloomCommand } from '../../base/command-line.js';
import { LayerloomError } from '../../base/errors.js';
import { splitAdapter } from '../../checkpoint/adapter-text.js';
import type { CheckpointIndex } from '../../checkpoint/checkpoint.js';
import { openCheckpoint } from '../../checkpoint/open.js';
import { readSideFile } from '../../checkpoint/small-file.js';
import { applyAdapter } from './apply.js';
import { openAdapter } from './open-adapter.js';
import { adapterConfigName } from './peft-config.js';

/**
 * Opens a model for reading: what `openCheckpoint` opens, or `[NAME=]BASE+ADAPTER`, a checkpoint and a LoRA adapter of
 * PEFT, each a path or a model of the hub's local caches. The two are one checkpoint, named like the adapter. A path
 * that exists goes before a plus in its name.
 *
 * @throws LayerloomError the codes of `openCheckpoint`, `openAdapter` and `applyAdapter`
 */
export const openModel = async (model: string): Promise<CheckpointIndex> => {
  const parts = await splitAdapter(model);
  if (parts === undefined) return await openCheckpoint(model);
  const { name, base, adapter } = parts;
  const [inBase, inAdapter] = await Promise.all([splitAdapter(base), splitAdapter(adapter)]);
  const first = inBase === undefined ? inAdapter && `${base}+${inAdapter.base}` : base;
  if (first !== undefined)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file: model,
      what: 'several adapters on one base',
      reason: 'are not added at once',
      remedy: `write ${first} first (${layerloomCommand('relayout', first, '-o', 'DIR')}), and add the other to that`,
    });
  const [opened, added] = await Promise.all([openCheckpoint(base), openAdapter(adapter)]);
  const config = await readSideFile(join(added.checkpoint.path, adapterConfigName));
  const applied = applyAdapter(opened, added, createHash('sha256').update(config).digest('hex'));
  return name === undefined ? applied : { ...applied, name };
};
