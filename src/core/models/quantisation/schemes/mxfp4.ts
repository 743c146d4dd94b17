import type { Shape, TensorReference } from '../../../tensor/reference.js';
import {
  checkShape,
  type FoundTensor,
  invalidQuantisation,
  type QuantisationScheme,
  type QuantisedCheckpoint,
  tensorBeside,
} from '../scheme.js';

const halves = /^(?<name>.+)_(?<half>blocks|scales)$/;

/** Number of elements that share a scale, and bytes of their codes. */
const [inBlock, bytesOfBlock] = [32, 16];

/**
 * MXFP4 as in gpt-oss: `NAME_blocks` [experts, rows, blocks, 16] with two E2M1 codes per byte, and
 * `NAME_scales` [experts, rows, blocks] of exponents. As in transformers, the tensor is [experts, columns,
 * rows], so each expert's matrix is transposed.
 */
export const mxfp4: QuantisationScheme = {
  methods: ['mxfp4'],
  unconverted: ['modules_to_not_convert'],
  find: (model) => {
    const { tensors } = model.checkpoint;
    return [...tensors].flatMap(([stored, codes]): FoundTensor[] => {
      const { name, half } = halves.exec(stored)?.groups ?? {};
      if (name === undefined) return [];
      // Throws if blocks or scales are missing.
      if (half === 'scales') tensorBeside(model.checkpoint, stored, `${name}_blocks`);
      return half === 'blocks' ? [found(model, name, codes)] : [];
    });
  },
};

const found = (model: QuantisedCheckpoint, name: string, codes: TensorReference): FoundTensor => {
  const { checkpoint } = model;
  const [blocksName, scalesName] = [`${name}_blocks`, `${name}_scales`];
  const scales = tensorBeside(checkpoint, blocksName, scalesName);
  const isOf = (reference: TensorReference, of: Shape): boolean =>
    reference.dtype === 'U8' && reference.shape.join() === of.join() && !of.includes(0);
  const [experts = 0, rows = 0, blocks = 0] = codes.shape;
  const shapes = [
    [blocksName, codes, [experts, rows, blocks, bytesOfBlock]],
    [scalesName, scales, [experts, rows, blocks]],
  ] as const;
  const wrong = shapes.find(([, reference, shape]) => !isOf(reference, shape));
  if (wrong !== undefined) {
    const [tensor, reference, wanted] = wrong;
    const { dtype, shape } = reference;
    throw invalidQuantisation(
      checkpoint,
      reference,
      tensor,
      `is ${dtype} [${shape.join(', ')}], and MXFP4 needs U8 [${wanted.join(', ')}]`,
    );
  }
  const width = inBlock * blocks;
  return checkShape(model, {
    name,
    shape: [experts, width, rows],
    of: [blocksName, scalesName],
    form: { codes: 'E2M1', rows, width, stride: width, block: [1, inBlock], transposed: true, scales },
  });
};
