import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import type { Compiled } from '../../methods/framework/declaration/method.js';
import { type StackedConfig, stackedConfig } from '../../models/architecture/layer-settings/stacked.js';
import { Unsaid } from '../../models/architecture/layer-settings/traits/saying.js';
import type { OpenedModel } from './inputs/models.js';

const unchanged: StackedConfig = { edits: {}, warnings: [] };

/**
 * Edits `config.json` so that each stacked layer has its own model's settings.
 *
 * @throws STACK_UNSUPPORTED for a key that cannot express this order of layers
 */
export const configOfStack = (
  { layersLike, leavesDraftsOut = false }: Compiled,
  models: readonly OpenedModel[],
): StackedConfig => {
  const config = models[0]?.checkpoint.config;
  if (layersLike === undefined || config === undefined) return unchanged;
  const described = models.map(({ checkpoint, architecture: { stacks, layers } }) => ({
    // `stackedConfig` treats a model without a configuration like the first model.
    config: checkpoint.config,
    stack: itemAt(stacks, 0),
    layers,
  }));
  try {
    return stackedConfig(described, layersLike, !leavesDraftsOut);
  } catch (error) {
    if (!(error instanceof Unsaid)) throw error;
    const { path } = itemAt(models, error.model).checkpoint;
    throw new LayerloomError(
      'STACK_UNSUPPORTED',
      { model: path, key: error.key, reason: error.reason },
      { cause: error },
    );
  }
};
