import type { ModelView } from '../../../methods/framework/declaration/method.js';
import type { OpenedModel } from './models.js';

export const viewOf = ({ checkpoint, architecture, recipe }: OpenedModel): ModelView => ({
  name: checkpoint.name,
  ...(recipe === undefined ? {} : { recipe }),
  layers: architecture.layers,
  places: architecture.places,
  tensors: checkpoint.tensors,
  config: checkpoint.config,
});
