import { layerSwap } from './layer-swap.js';
import type { Method } from './method.js';
import { relayout } from './relayout.js';
import { revert } from './revert.js';
import { soup } from './soup.js';

/** Every method, by the name recipes use. */
export const methods: ReadonlyMap<string, Method<never>> = new Map(
  [layerSwap, soup, revert, relayout].map((method) => [method.name, method as unknown as Method<never>]),
);
