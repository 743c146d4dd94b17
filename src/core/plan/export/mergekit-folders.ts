import { dirname } from 'node:path';
import { argument, layerloomCommand } from '../../base/errors/command-line.js';
import { namesIn } from '../../base/files/unless-missing.js';
import { foundModels, sharedAddress } from '../../models/address/found-model.js';
import { configName } from '../../models/checkpoint/files/file-names.js';
import { isNoModel } from '../compile/inputs/models.js';
import type { PlannedInput } from '../plan.js';
import { cannotSay } from './mergekit-unsupported.js';

/** Files that mergekit looks for. */
const weights: readonly string[] = ['model.safetensors', 'pytorch_model.bin'].flatMap((name) => [
  name,
  `${name}.index.json`,
]);

/**
 * Refuses local models that mergekit cannot read: files, and folders without `config.json` or usual weights.
 *
 * @throws EXPORT_UNSUPPORTED
 */
export const checkFolders = async (inputs: readonly PlannedInput[]): Promise<void> => {
  for (const input of inputs) {
    const [model] = foundModels(input);
    if (input.role === 'config' || isNoModel(input)) continue;
    if (model === undefined || sharedAddress(model) !== undefined) continue;
    const names = await namesIn(model.path);
    const beside = names.length === 0 ? await namesIn(dirname(model.path)) : names;
    const hasConfig = beside.includes(configName);
    if (hasConfig && weights.some((name) => names.includes(name))) continue;
    const path = argument(model.path);
    const way = hasConfig
      ? layerloomCommand('relayout', path, '-o', 'DIR')
      : layerloomCommand('relayout', path, '--config', 'BASE', '-o', 'DIR');
    cannotSay(
      `${model.path}, which is no folder of config.json with model.safetensors or pytorch_model.bin`,
      `write it plainly (${way}), and name DIR in its place`,
    );
  }
};
