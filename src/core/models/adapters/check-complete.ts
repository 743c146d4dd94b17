import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/files/json.js';
import type { Adapter } from './adapter.js';

/**
 * Checks that an adapter has the tensors that its configuration promises. Throws if a tensor of
 * `modules_to_save` is missing. Warns if factors are missing in only some layers: files may hold weights that
 * PEFT does not train, such as Gemma 3n's shared keys and values.
 *
 * @param adapter with parameters named as in the base's files
 * @returns warnings
 * @throws ADAPTER_INVALID
 */
export const checkComplete = (base: CheckpointIndex, adapter: Adapter): readonly string[] => {
  const { config, replaced, checkpoint } = adapter;
  const { path } = itemAt(checkpoint.files, 0);
  for (const saved of config.modulesToSave) {
    const isSaved = (parameter: string) => `${moduleOf(parameter)}.`.includes(`${saved}.`);
    if ([...base.tensors.keys()].some(isSaved) && ![...replaced.keys()].some(isSaved))
      throw new LayerloomError('ADAPTER_INVALID', {
        file: path,
        reason: `has no tensor of ${saved}, which modules_to_save of adapter_config.json names`,
        remedy: 'download or save the adapter again',
      });
  }
  const [module, ...others] = missingModules(base, adapter);
  if (module === undefined) return [];
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return [
    `${path} has no factors for ${module}${more}, which target_modules names and other layers have: the base is unchanged there; if the download is not complete, repeat it`,
  ];
};

const moduleOf = (parameter: string): string => parameter.slice(0, Math.max(0, parameter.lastIndexOf('.')));

const layerNumber = /(?<=\.)\d+(?=\.)/g;

/**
 * Returns modules that lack factors in a layer but have them in another; none if the configuration selects layers.
 */
const missingModules = (base: CheckpointIndex, { pairs, changes, config }: Adapter): readonly string[] => {
  const { targetModules, raw } = config;
  const isOfAllLayers = [raw['layers_to_transform'], raw['exclude_modules']].every(
    (value) => value === undefined || value === null || (Array.isArray(value) && value.length === 0),
  );
  if (!Array.isArray(targetModules) || !isOfAllLayers) return [];
  const inAnyLayer = (name: string) => name.replace(layerNumber, '*');
  const has = (name: string) => pairs.has(name) || changes.has(name);
  const adapted = new Set([...pairs.keys(), ...changes.keys()].map(inAnyLayer));
  const layers = layersOf(base);
  return [...base.tensors.keys()]
    .filter((name) => name.endsWith('.weight') && !has(name) && adapted.has(inAnyLayer(name)))
    .filter((name) => Number(name.match(layerNumber)?.[0] ?? 0) < layers)
    .map(moduleOf)
    .filter((module) => targetModules.some((target) => `.${module}`.endsWith(`.${target}`)));
};

/** The number of layers without draft layers, which some models number last. */
const layersOf = ({ config }: CheckpointIndex): number => {
  const text = isObject(config?.['text_config']) ? config['text_config'] : config;
  const layers = text?.['num_hidden_layers'];
  return typeof layers === 'number' ? layers : Number.POSITIVE_INFINITY;
};
