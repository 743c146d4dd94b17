import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type ModelAddress, parseAddress, printAddress } from '../../address/address.js';
import { argument, layerloomCommand } from '../../base/command-line.js';
import { LayerloomError } from '../../base/errors.js';
import type { CheckpointIndex } from '../../checkpoint/checkpoint.js';
import { readSideFile } from '../../checkpoint/small-file.js';
import { openCheckpoint } from '../../sources/open-checkpoint.js';
import { separated } from '../experts/separated.js';
import { dequantised } from '../quantisation/dequantised.js';
import { applyAdapter } from './apply.js';
import { openAdapter } from './open-adapter.js';
import { adapterConfigName } from './peft-config.js';

/**
 * Opens a model for reading: a checkpoint, or a base with a LoRA adapter of PEFT. The two are one checkpoint, named like the
 * adapter.
 *
 * @throws LayerloomError the codes of `openCheckpoint`, `openAdapter` and `applyAdapter`
 */
export const openAddress = async (model: ModelAddress): Promise<CheckpointIndex> => {
  if (model.kind === 'model') return await openCheckpoint(model);
  const { name, base, adapter } = model;
  if (base.kind === 'adapted' || adapter.kind === 'adapted') {
    const first: ModelAddress =
      adapter.kind === 'adapted' ? { kind: 'adapted', base, adapter: adapter.base } : base;
    const text = printAddress(first);
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file: printAddress(model),
      what: 'several adapters on one base',
      reason: 'are not added at once',
      remedy: `write ${text} first (${layerloomCommand('relayout', argument(text), '-o', 'DIR')}), and add the other to that`,
    });
  }
  const [opened, added] = await Promise.all([openCheckpoint(base), openAdapter(adapter)]);
  const config = await readSideFile(join(added.checkpoint.path, adapterConfigName));
  const applied = applyAdapter(
    separated(dequantised(opened)),
    added,
    createHash('sha256').update(config).digest('hex'),
  );
  return name === undefined ? applied : { ...applied, name };
};

/** `openAddress`, of the text that names a model: a path or `org/name[@revision]`, `BASE+ADAPTER`, `NAME=` before either. */
export const openModel = async (model: string): Promise<CheckpointIndex> =>
  openAddress(await parseAddress(model));
