import * as z from 'zod';
import { diagonal, type FactoredChange, matrix, transposed } from './factored.js';
import { tuner } from './tuner.js';

/** W + (alpha/init_r)·B·diag(E)·A (arXiv 2303.10512); as in PEFT, init_r is increased by 10⁻⁵. */
export const adalora = tuner({
  type: 'ADALORA',
  title: 'AdaLoRA',
  noSum: 'has a third factor (AdaLoRA)',
  parts: ['lora_A', 'lora_B', 'lora_E'],
  keys: {
    lora_alpha: z.number().default(8),
    init_r: z.int().min(1).default(12),
    // Lists the kept ranks; the factors contain only these.
    rank_pattern: z.record(z.string(), z.unknown()).nullish(),
    lora_bias: z.literal(false).nullish(),
    use_dora: z.literal(false).nullish(),
  },
  mayBeEmpty: true,
  ignored: [
    ...['target_r', 'tinit', 'tfinal', 'deltaT', 'beta1', 'beta2', 'orth_reg_weight', 'total_step', 'r'],
    ...['lora_dropout', 'init_lora_weights', 'megatron_core', 'qalora_group_size', 'runtime_config'],
    // PEFT's AdaLoRA ignores these keys.
    ...['use_rslora', 'alpha_pattern', 'loftq_config', 'eva_config', 'corda_config'],
  ],
  read: ({ module, need, invalid }, { lora_alpha: alpha, init_r: most }) => {
    const [a, b, e] = [need('lora_A'), need('lora_B'), need('lora_E')];
    const [rank = 0, inner = 0] = a.tensor.shape;
    const [out = 0, ofB] = b.tensor.shape;
    const isPair = a.tensor.shape.length === 2 && b.tensor.shape.length === 2 && ofB === rank;
    if (!isPair || e.tensor.shape.join() !== [rank, 1].join())
      invalid(
        e,
        `is [${e.tensor.shape.join(', ')}], and its factors are [${b.tensor.shape.join(', ')}] and [${a.tensor.shape.join(', ')}]`,
      );
    if (rank > most) invalid(a, `has rank ${rank}, above init_r ${most} in adapter_config.json`);
    if (rank === 0) return {};
    const scale = (alpha > 0 ? alpha : rank) / Math.fround(most + 1e-5);
    return {
      changes: [
        {
          parameter: `${module}.weight`,
          from: a,
          change: ({ shape, transposed: isTransposed, place, mismatch }): FactoredChange => {
            const given = isTransposed ? [inner, out] : [out, inner];
            if (given.join() !== shape.join())
              mismatch(
                `is [${shape.join(', ')}] in the base, and the product of its factors is [${given.join(', ')}]`,
              );
            const pieces = [
              matrix(place(b.tensor)),
              diagonal(place(e.tensor), rank),
              matrix(place(a.tensor)),
            ];
            return {
              kind: 'factored',
              scale,
              kronecker: false,
              factors: [isTransposed ? transposed(pieces) : pieces],
            };
          },
        },
      ],
    };
  },
});
