import { type FactoredChange, fitsTucker, matrix, matrixShape, tuckerProduct } from './factored.js';
import { tuner } from './tuner.js';

/** W + (alpha/rank)·(w1_a·w1_b) ⊙ (w2_a·w2_b) (arXiv 2108.06098). */
export const loha = tuner({
  type: 'LOHA',
  title: 'LoHa',
  noSum: 'multiplies two products element by element (LoHa)',
  parts: ['hada_w1_a', 'hada_w1_b', 'hada_w2_a', 'hada_w2_b', 'hada_t1', 'hada_t2'],
  keys: {},
  numbers: { rank: 'r', alpha: 'alpha' },
  // The cores' presence implies `use_effective_conv2d`.
  ignored: ['rank_dropout', 'module_dropout', 'init_weights', 'use_effective_conv2d'],
  read: ({ module, rank, alpha, find, need, invalid }) => {
    const hasCores = (find('hada_t1') ?? find('hada_t2')) !== undefined;
    const pairs = [1, 2].map((index) => ({
      a: need(`hada_w${index}_a`),
      b: need(`hada_w${index}_b`),
      core: hasCores ? need(`hada_t${index}`) : undefined,
    }));
    for (const { a, b, core } of pairs) {
      const [, ofA] = matrixShape(a.tensor.shape);
      if (core === undefined && (ofA !== rank || b.tensor.shape[0] !== rank))
        invalid(b, `and ${a.name} have not the rank ${rank} of adapter_config.json (r, rank_pattern)`);
    }
    const [{ a: from }] = pairs as [(typeof pairs)[number]];
    return {
      changes: [
        {
          parameter: `${module}.weight`,
          from,
          change: ({ shape, transposed, place, mismatch, unsupported }): FactoredChange => {
            if (transposed) unsupported('changes a transposed layer, for which PEFT has no LoHa');
            const wanted = matrixShape(shape);
            const factors = pairs.map(({ a, b, core }) => {
              if (core !== undefined) {
                if (!fitsTucker([core.tensor.shape, a.tensor.shape, b.tensor.shape], rank, shape))
                  mismatch(
                    `is [${shape.join(', ')}] in the base, which ${core.name} and its factors do not fit`,
                  );
                return tuckerProduct(place(core.tensor), place(a.tensor), place(b.tensor));
              }
              const given = [matrixShape(a.tensor.shape)[0], matrixShape(b.tensor.shape)[1]];
              if (given.join() !== wanted.join())
                mismatch(
                  `is [${shape.join(', ')}] in the base, and the product of ${a.name} and ${b.name} is [${given.join(', ')}]`,
                );
              return [matrix(place(a.tensor)), matrix(place(b.tensor))];
            });
            return { kind: 'factored', scale: alpha / rank, kronecker: false, factors };
          },
        },
      ],
    };
  },
});
