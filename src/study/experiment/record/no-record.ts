import { readdir, stat } from 'node:fs/promises';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { nearPath } from '../../../core/base/files/near-path.js';
import { findWeights, isWeightsName } from '../../../core/models/checkpoint/containers/containers.js';
import { adapterConfigName } from '../../../core/models/checkpoint/files/file-names.js';

export const noRecord = async (directory: string): Promise<LayerloomError<'EXPERIMENT_MISSING'>> => {
  const found = await stat(directory).catch(() => undefined);
  const names = found?.isDirectory() ? await readdir(directory).catch(() => []) : [];
  const isFile = found?.isFile() ?? false;
  const isModel =
    findWeights(names) !== undefined ||
    names.includes(adapterConfigName) ||
    (isFile && isWeightsName(directory));
  const near = found === undefined ? nearPath(directory) : undefined;
  const ofModel = {
    reason: 'is a model, not an experiment',
    remedy: `\`${layerloomCommand('evaluate', argument(directory), '--benchmarks', 'mgsm')}\` scores it, \`${layerloomCommand('try')}\` shows its answer to a prompt`,
  };
  const ofOther = {
    reason:
      found === undefined
        ? 'does not exist'
        : isFile
          ? 'is a file, not a directory'
          : 'has no experiment.json',
    remedy:
      near === undefined
        ? `run \`${layerloomCommand('batch', 'EXPERIMENT.yaml', '-o', argument(isFile ? 'DIR' : directory))}\` first${isFile ? ', and give DIR' : ''}`
        : `did you mean ${near}?`,
  };
  return new LayerloomError('EXPERIMENT_MISSING', { directory, ...(isModel ? ofModel : ofOther) });
};
