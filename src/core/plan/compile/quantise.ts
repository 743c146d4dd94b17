import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { optionName } from '../../base/errors/option-name.js';
import { isWhole, operationOf } from '../../methods/operations/index.js';
import { codeDtypeOf, gridOfMatrix, type Quantise } from '../../methods/operations/quantised/quantise.js';
import { fp8Warnings } from '../../models/architecture/not-loaded.js';
import { moduleOf } from '../../models/quantisation/dequantised.js';
import {
  type BlockSize,
  blockOf,
  fits,
  isQuantisable,
  quantisings,
  type WrittenName,
} from '../../models/quantisation/quantising.js';
import { hasConv1D } from '../../models/quantisation/scheme.js';
import { bytesOfTensor, type Shape } from '../../tensor/reference.js';
import type { UnplacedTensor } from '../layout.js';
import { computedTensor } from '../operands/computed.js';
import type { Operand } from '../plan.js';
import type { Composed } from './composed.js';
import type { OpenedModel } from './inputs/models.js';
import { unquantised } from './quantised-output.js';

interface Written {
  readonly scales: string;
  /** The key that lists unquantised modules. */
  readonly unconverted: string;
  settings(block: BlockSize): Readonly<Record<string, unknown>>;
}

const eightBits = { num_bits: 8, type: 'int', symmetric: true };

const written: Readonly<Record<WrittenName, Written>> = {
  'fp8-block': {
    scales: 'weight_scale_inv',
    unconverted: 'modules_to_not_convert',
    settings: (block) => ({ quant_method: 'fp8', activation_scheme: 'dynamic', weight_block_size: block }),
  },
  // llm-compressor's W8A8 settings: runtimes quantise activations per token.
  int8: {
    scales: 'weight_scale',
    unconverted: 'ignore',
    settings: () => ({
      quant_method: 'compressed-tensors',
      format: 'int-quantized',
      quantization_status: 'compressed',
      config_groups: {
        group_0: {
          targets: ['Linear'],
          weights: { ...eightBits, strategy: 'channel', dynamic: false },
          input_activations: { ...eightBits, strategy: 'token', dynamic: true },
          output_activations: null,
        },
      },
    }),
  },
};

/**
 * Quantises the method's unrounded values. If the recipe names a base, the plan also reads the base's
 * matrices to measure how much of the change survives.
 *
 * @throws INVALID_PARAMETER if nothing can be quantised, or the output is an adapter
 */
export const quantised = (composed: Composed, name: WrittenName): Composed => {
  const refuse = (expected: string) => invalidParameter('quantize', name, expected);
  if (composed.adapter !== undefined) throw refuse('nothing where the output is an adapter');
  if (composed.models[0]?.architecture.naming === 'meta')
    throw refuse("models with Hugging Face's names: no loader reads quantised ones with Meta's");
  if (composed.models[0] !== undefined && hasConv1D(composed.models[0]))
    throw refuse('a model of linear modules: those of GPT-2 and its like are stored transposed');
  if (composed.tensors.some(({ expression }) => isWhole(expression)))
    throw refuse('nothing where matrices are solved for: quantise the merge in a step of its own');
  const isMatrix = (tensor: UnplacedTensor): tensor is Matrix =>
    isQuantisable(tensor.name, tensor, tensor.place) && tensor.expression.kind !== 'same';
  const shapes = composed.tensors.filter(isMatrix).map(({ shape }) => shape);
  const block = blockOf(name, shapes);
  if (!shapes.some((shape) => fits(block, shape)))
    throw refuse(
      shapes.length === 0
        ? 'a model with one stack of layers (or a chosen `stack`), matrices that are plain or in a readable quantisation, and a matrix for each expert'
        : `a model with matrices whose rows and columns are multiples of 32, unlike [${shapes[0]?.join(', ')}]`,
    );
  const { frame: _frame, ...plain } = unquantised(composed);
  const base = [...composed.models, ...composed.companions].find(({ role }) => role === 'base');
  const left = new Set(['lm_head']);
  const tensors = plain.tensors.flatMap((tensor) => {
    if (isMatrix(tensor) && fits(block, tensor.shape)) return partsOf(tensor, name, block, base);
    const { place, shape, name: own } = tensor;
    if (shape.length === 2 && place.role !== 'embedding' && own.endsWith('.weight')) left.add(moduleOf(own));
    return [tensor];
  });
  const { settings, unconverted } = written[name];
  return {
    ...plain,
    tensors,
    configEdits: {
      ...plain.configEdits,
      quantization_config: { ...settings(block), [unconverted]: [...left].sort() },
    },
    warnings: [
      ...plain.warnings,
      ...(name === 'fp8-block' ? fp8Warnings(composed.models[0]?.checkpoint.config) : []),
      ...(base === undefined
        ? [
            `how much of the change survives ${optionName('quantize', name)} is not measured, since the recipe names no base (${optionName('base')})`,
          ]
        : []),
    ],
  };
};

type Matrix = UnplacedTensor & { readonly shape: readonly [number, number] };

const partsOf = (
  tensor: Matrix,
  name: WrittenName,
  [blockRows, blockColumns]: BlockSize,
  base: OpenedModel | undefined,
): UnplacedTensor[] => {
  const { shape, expression, place } = tensor;
  const { scheme } = quantisings[name];
  // Elements that are only moved keep their dtype.
  const dtype = operationOf(expression).takesBits === true ? tensor.dtype : 'F32';
  const formula: Omit<Quantise<Operand>, 'part'> = {
    kind: 'quantise',
    of: tensor.name,
    scheme,
    shape,
    block: [Math.min(blockRows, shape[0]), Math.min(blockColumns, shape[1])],
    source: expression.kind === 'copy' ? expression.source : computedTensor(dtype, expression),
  };
  const scales = { ...place, module: place.module.replace(/weight$/, written[name].scales) };
  return [
    sized({
      ...tensor,
      dtype: codeDtypeOf(scheme),
      expression: { ...formula, part: 'codes', ...baseOf(base, tensor) },
    }),
    sized({
      name: `${moduleOf(tensor.name)}.${written[name].scales}`,
      dtype: 'F32',
      shape: gridOfMatrix(formula),
      place: scales,
      expression: { ...formula, part: 'scales' },
    }),
  ];
};

const baseOf = (base: OpenedModel | undefined, { name, shape }: Matrix): { readonly base?: Operand } => {
  const found = base?.operandOf(name);
  const isSame = (other: Shape | undefined) => other?.join() === shape.join();
  return found !== undefined && isSame(base?.checkpoint.tensors.get(name)?.shape) ? { base: found } : {};
};

const sized = (tensor: Omit<UnplacedTensor, 'bytes'>): UnplacedTensor => ({
  ...tensor,
  bytes: bytesOfTensor(tensor.dtype, tensor.shape),
});
