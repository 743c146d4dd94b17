import { frontMatterOf } from '../../../../texts/markdown.js';
import { YamlRefused, yamlValue } from '../../../../texts/yaml.js';
import { isHubId } from '../../../address/remote.js';
import { isObject } from '../../../checkpoint/files/json.js';

/**
 * Checks `base_model` and `license` in a model card, which the hub uses.
 *
 * @returns warnings
 */
export const checkCard = (text: string | undefined): string[] => {
  if (text === undefined)
    return [
      'there is no README.md: the model has no card, and the hub does not know its base models and licence',
    ];
  const yaml = frontMatterOf(text);
  if (yaml === undefined)
    return ['README.md has no front matter (--- … ---), so that the hub reads nothing of it'];
  let value: unknown;
  try {
    value = yamlValue(yaml, 'none');
  } catch (error) {
    if (!(error instanceof YamlRefused)) throw error;
    return [`the front matter of README.md is not read: ${error.message}`];
  }
  if (!isObject(value)) return ['the front matter of README.md is no mapping'];
  return [...baseModels(value['base_model']), ...licence(value['license'])];
};

const baseModels = (given: unknown): string[] => {
  const models = (Array.isArray(given) ? given : given === undefined ? [] : [given]).map(String);
  if (models.length === 0)
    return [
      'README.md names no base_model, since the models merged were not found as models of the hub; add their names (org/name) to its front matter',
    ];
  const local = models.filter((model) => !isHubId(model) || model.includes('@'));
  return local.length === 0
    ? []
    : [`base_model in README.md has names that are not of the form org/name: ${local.join(', ')}`];
};

const licence = (given: unknown): string[] =>
  given === undefined || given === null || given === ''
    ? ['README.md states no license; add one that the licences of the merged models allow']
    : [];
