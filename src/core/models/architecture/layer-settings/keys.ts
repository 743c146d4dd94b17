import { common, layerSettings } from './families.js';

const traits = [...common, ...layerSettings.flatMap((family) => family.traits ?? [])];

/** Keys of the number of layers and of settings by layer. Stacked models may differ in these. */
export const saysByLayer: ReadonlySet<string> = new Set([
  ...['num_hidden_layers', 'num_layers', 'n_layer', 'n_layers', 'num_blocks', 'layers', 'max_window_layers'],
  ...traits.flatMap(({ says }) => says.flatMap(({ keys }) => keys)),
]);
