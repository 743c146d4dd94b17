import * as z from 'zod';
import { schemaOf } from '../framework/declaration/declared.js';
import type { Method } from '../framework/declaration/method.js';
import { modelSchema } from '../framework/declaration/parameters.js';
import type { ModelInput } from '../framework/declaration/recipe-input.js';

/** Parameters of `relayout`. */
export interface RelayoutParameters {
  /** The model to write in other shards. */
  model: ModelInput;
}

const schema = schemaOf<RelayoutParameters>()(z.strictObject({ model: modelSchema }));

type Parameters = z.output<typeof schema>;

/** Rewrites a model in other shards, so that later merges can link to shards of whole layers. */
export const relayout: Method<Parameters> = {
  name: 'relayout',
  title: 'Relayout',
  schema,
  tags: [],
  takes: { base: 'none', models: 'one' },
  needsLayers: false,
  keepsCard: true,
  models: ({ model }) => [{ role: 'model', model }],
  companions: () => [],
  compile: () => ({ resolved: {}, expressionOf: () => ({ kind: 'copy', source: { model: 0 } }) }),
};
