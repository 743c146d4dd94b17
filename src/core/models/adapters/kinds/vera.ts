import * as z from 'zod';
import { diagonal, type FactoredChange, matrix, transposed } from './factored.js';
import { tuner } from './tuner.js';

/** W + diag(b)·B·diag(d)·A (arXiv 2310.11454). Modules share A and B, and use the first rows and columns. */
export const vera = tuner({
  type: 'VERA',
  title: 'VeRA',
  noSum: 'shares its matrices between modules (VeRA)',
  parts: ['vera_lambda_b', 'vera_lambda_d'],
  shared: ['vera_A', 'vera_B'],
  keys: { r: z.int().min(1).default(256), save_projection: z.boolean().default(true) },
  ignored: ['projection_prng_key', 'vera_dropout', 'd_initial', 'init_weights'],
  refusal: ({ save_projection: saved }) =>
    saved
      ? undefined
      : {
          what: 'save_projection false',
          reason:
            'leaves out the projections, which torch draws from a seed: merge it by PEFT, and give that model',
        },
  read: ({ module, need, shared, invalid }, { r: rank }) => {
    const [ofOutputs, ofRanks] = [need('vera_lambda_b'), need('vera_lambda_d')];
    const [a, b] = [shared('vera_A'), shared('vera_B')];
    const [ranks, inputs = 0] = a.tensor.shape;
    const [outputs = 0, ofB] = b.tensor.shape;
    if (a.tensor.shape.length !== 2 || ranks !== rank)
      invalid(a, `has not the rank ${rank} of adapter_config.json (r)`);
    if (b.tensor.shape.length !== 2 || ofB !== rank)
      invalid(b, `has not the rank ${rank} of adapter_config.json (r)`);
    if (ofRanks.tensor.shape.join() !== String(rank))
      invalid(ofRanks, `is [${ofRanks.tensor.shape.join(', ')}], and the rank is ${rank}`);
    return {
      changes: [
        {
          parameter: `${module}.weight`,
          from: ofOutputs,
          change: ({ shape, transposed: isTransposed, place, mismatch }): FactoredChange => {
            const [out = 0, inner = 0] = isTransposed ? shape.toReversed() : shape;
            if (
              shape.length !== 2 ||
              ofOutputs.tensor.shape.join() !== String(out) ||
              out > outputs ||
              inner > inputs
            )
              mismatch(
                `is [${shape.join(', ')}] in the base, and ${ofOutputs.name} is [${ofOutputs.tensor.shape.join(', ')}], of projections for up to [${outputs}, ${inputs}]`,
              );
            const pieces = [
              diagonal(place(ofOutputs.tensor), out),
              matrix(place(b.tensor), [out, rank]),
              diagonal(place(ofRanks.tensor), rank),
              matrix(place(a.tensor), [rank, inner]),
            ];
            return {
              kind: 'factored',
              scale: 1,
              kronecker: false,
              factors: [isTransposed ? transposed(pieces) : pieces],
            };
          },
        },
      ],
    };
  },
});
