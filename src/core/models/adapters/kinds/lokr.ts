import { type FactoredChange, matrix, matrixShape } from './factored.js';
import { type NamedTensor, tuner } from './tuner.js';

/** W + alpha / rank · w1 ⊗ w2, where w1 and w2 may be products w_a · w_b (arXiv 2309.14859). */
export const lokr = tuner({
  type: 'LOKR',
  title: 'LoKr',
  noSum: 'is a Kronecker product (LoKr)',
  parts: ['lokr_w1', 'lokr_w1_a', 'lokr_w1_b', 'lokr_w2', 'lokr_w2_a', 'lokr_w2_b', 'lokr_t2'],
  keys: {},
  numbers: { rank: 'r', alpha: 'alpha' },
  ignored: [
    ...['rank_dropout', 'module_dropout', 'rank_dropout_scale', 'init_weights', 'use_effective_conv2d'],
    // The factors' shapes imply these keys.
    ...['decompose_both', 'decompose_factor'],
  ],
  read: ({ module, rank, alpha, find, need, invalid }) => {
    const core = find('lokr_t2');
    const factors = ['lokr_w1', 'lokr_w2'].map((factor): readonly NamedTensor[] => {
      const [whole, a, b] = [find(factor), find(`${factor}_a`), find(`${factor}_b`)];
      if (whole !== undefined) {
        const extra = a ?? b;
        if (extra !== undefined) invalid(extra, `stands beside ${whole.name}, and only one of them may`);
        return [whole];
      }
      const pair = [need(`${factor}_a`), need(`${factor}_b`)] as const;
      const isPair = matrixShape(pair[0].tensor.shape)[1] === rank && pair[1].tensor.shape[0] === rank;
      if (core === undefined && !isPair)
        invalid(
          pair[1],
          `and ${pair[0].name} have not the rank ${rank} of adapter_config.json (r, rank_pattern)`,
        );
      return pair;
    });
    const [[from]] = factors as [readonly [NamedTensor]];
    return {
      changes: [
        {
          parameter: `${module}.weight`,
          from,
          change: ({ shape, transposed, place, mismatch, unsupported }): FactoredChange => {
            if (core !== undefined) unsupported('is of a convolution (use_effective_conv2d)');
            if (transposed) unsupported('changes a transposed layer, for which PEFT has no LoKr');
            const pieces = factors.map((factor) => factor.map(({ tensor }) => matrix(place(tensor))));
            const rows = pieces.reduce((size, factor) => size * (factor[0]?.rows ?? 0), 1);
            const columns = pieces.reduce((size, factor) => size * (factor.at(-1)?.columns ?? 0), 1);
            if ([rows, columns].join() !== matrixShape(shape).join())
              mismatch(`is [${shape.join(', ')}] there, and its Kronecker product [${rows}, ${columns}]`);
            return { kind: 'factored', scale: alpha / rank, kronecker: true, factors: pieces };
          },
        },
      ],
    };
  },
});
