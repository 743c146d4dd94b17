import { tuner } from './tuner.js';

/** Replaces whole modules, such as norms (arXiv 2312.11420). */
export const lnTuning = tuner({
  type: 'LN_TUNING',
  title: 'LN tuning',
  noSum: 'replaces whole modules (LN tuning)',
  parts: ['ln_tuning_layers.weight', 'ln_tuning_layers.bias'],
  mayBeLarge: true,
  keys: {},
  ignored: [],
  read: ({ module, find }) => ({
    replaced: new Map(
      ['weight', 'bias'].flatMap((parameter) => {
        const found = find(`ln_tuning_layers.${parameter}`);
        return found === undefined ? [] : [[`${module}.${parameter}`, found] as const];
      }),
    ),
  }),
});
