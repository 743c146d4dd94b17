import { z } from 'zod';
import type { Method } from './framework/method.js';
import { modelSchema } from './framework/parameters.js';

const schema = z.strictObject({ model: modelSchema });

type Parameters = z.output<typeof schema>;

export type RelayoutParameters = z.input<typeof schema>;

/** One checkpoint as it is, in other shards: so that later merges can link those of layers they take whole. */
export const relayout: Method<Parameters> = {
  name: 'relayout',
  title: 'Relayout',
  schema,
  tags: [],
  needsLayers: false,
  keepsCard: true,
  models: ({ model }) => [{ role: 'model', model }],
  companions: () => [],
  compile: () => ({ resolved: {}, expressionOf: () => ({ kind: 'copy', source: { model: 0 } }) }),
};
