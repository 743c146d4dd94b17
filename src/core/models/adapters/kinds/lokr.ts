import { type FactoredChange, fitsTucker, matrix, matrixShape, tuckerProduct } from './factored.js';
import { type NamedTensor, tuner } from './tuner.js';

/** W + (alpha/rank)·w1 ⊗ w2, where w1 and w2 may be products w_a·w_b (arXiv 2309.14859). */
export const lokr = tuner({
  type: 'LOKR',
  title: 'LoKr',
  noSum: 'is a Kronecker product (LoKr)',
  parts: ['lokr_w1', 'lokr_w1_a', 'lokr_w1_b', 'lokr_w2', 'lokr_w2_a', 'lokr_w2_b', 'lokr_t2'],
  keys: {},
  numbers: { rank: 'r', alpha: 'alpha' },
  ignored: [
    ...['rank_dropout', 'module_dropout', 'rank_dropout_scale', 'init_weights'],
    // The factors and their shapes imply these keys.
    ...['decompose_both', 'decompose_factor', 'use_effective_conv2d'],
  ],
  read: ({ module, rank, alpha, find, need, invalid }) => {
    const core = find('lokr_t2');
    const factors = ['lokr_w1', 'lokr_w2'].map((factor): readonly NamedTensor[] => {
      const [whole, a, b] = [find(factor), find(`${factor}_a`), find(`${factor}_b`)];
      if (whole !== undefined) {
        const extra = a ?? b ?? (factor === 'lokr_w2' ? core : undefined);
        if (extra !== undefined) invalid(extra, `stands beside ${whole.name}, and only one of them may`);
        return [whole];
      }
      const pair = [need(`${factor}_a`), need(`${factor}_b`)] as const;
      if (factor === 'lokr_w2' && core !== undefined) return [core, ...pair];
      if (matrixShape(pair[0].tensor.shape)[1] !== rank || pair[1].tensor.shape[0] !== rank)
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
            if (transposed) unsupported('changes a transposed layer, for which PEFT has no LoKr');
            const pieces = factors.map((factor) => {
              const [own, a, b] = factor.map(({ tensor }) => place(tensor));
              if (own === undefined || a === undefined || b === undefined)
                return factor.map(({ tensor }) => matrix(place(tensor)));
              const inner = [matrixShape(a.shape)[1], matrixShape(b.shape)[1], ...shape.slice(2)];
              if (!fitsTucker([own.shape, a.shape, b.shape], rank, inner))
                mismatch(`is [${shape.join(', ')}] in the base, which lokr_t2 and its factors do not fit`);
              return tuckerProduct(own, a, b);
            });
            const rows = pieces.reduce((size, factor) => size * (factor[0]?.rows ?? 0), 1);
            const columns = pieces.reduce((size, factor) => size * (factor.at(-1)?.columns ?? 0), 1);
            if ([rows, columns].join() !== matrixShape(shape).join())
              mismatch(
                `is [${shape.join(', ')}] in the base, and the Kronecker product is [${rows}, ${columns}]`,
              );
            return { kind: 'factored', scale: alpha / rank, kronecker: true, factors: pieces };
          },
        },
      ],
    };
  },
});
