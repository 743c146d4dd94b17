import { LayerloomError } from '../../base/errors/errors.js';
import { withBeside } from '../../models/quantisation/dequantised.js';
import type { GivenConfig } from '../../models/reading/given-config.js';
import { inSpelling, withCheckpoint } from '../../plan/compile/in-spelling.js';
import { type OpenedCheckpoint, openModels } from '../../plan/compile/inputs/models.js';

export interface ComparedPair {
  readonly a: OpenedCheckpoint;
  readonly b: OpenedCheckpoint;
}

/**
 * Opens two models' headers.
 *
 * @throws NAMING_MISMATCH, the codes of `openCheckpoint`
 */
export const openPair = async (
  modelA: string,
  modelB: string,
  config?: GivenConfig,
): Promise<ComparedPair> => {
  const models = [
    { role: 'a', model: modelA },
    { role: 'b', model: modelB },
  ];
  const [a, b] = await openModels(models, config);
  if (a === undefined || b === undefined) throw new RangeError('openModels gave no two models');
  checkNaming(a, b);
  const areQuantised = [a, b].every(({ checkpoint }) => checkpoint.quantisation !== undefined);
  const shown = (model: OpenedCheckpoint) =>
    areQuantised ? withCheckpoint(model, withBeside(model.checkpoint)) : model;
  return { a: shown(a), b: inSpelling(shown(a), shown(b)) };
};

const checkNaming = (a: OpenedCheckpoint, b: OpenedCheckpoint): void => {
  const spelt = { huggingface: 'Hugging Face', meta: 'Meta' };
  if (a.architecture.naming !== b.architecture.naming)
    throw new LayerloomError('NAMING_MISMATCH', {
      first: a.checkpoint.path,
      other: b.checkpoint.path,
      firstNaming: spelt[a.architecture.naming],
      otherNaming: spelt[b.architecture.naming],
    });
};
