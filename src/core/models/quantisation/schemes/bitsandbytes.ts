import * as z from 'zod';
import { elementCount, type TensorReference } from '../../../tensor/reference.js';
import { jsonOrNone } from '../../../texts/json.js';
import { mostDescriptionBytes } from '../../checkpoint/descriptions.js';
import { inEightBits } from '../float8.js';
import {
  checkShape,
  type FoundTensor,
  hasConv1D,
  invalidQuantisation,
  type QuantisationScheme,
  type QuantisedCheckpoint,
  tensorBeside,
} from '../scheme.js';

const tables = { nf4: 'NF4', fp4: 'FP4' } as const;

type Table = keyof typeof tables;

/** Matches the tensors beside a 4-bit weight; any of them identifies it. */
const ofFourBits = /^(?<weight>.+\.weight)\.(absmax|quant_map|nested_absmax|nested_quant_map)$/;

const stateOf = /^(?<weight>.+\.weight)\.quant_state\.bitsandbytes__(?<table>nf4|fp4)$/;

/**
 * bitsandbytes. With 4 bits, `weight` holds bytes, whatever its dtype, for all elements as one row.
 * `weight.absmax` has a scale per block, or a byte per block: that byte indexes `weight.nested_quant_map`,
 * and the value times `weight.nested_absmax`, plus an offset, is the scale. The shape is in the JSON of
 * `weight.quant_state.bitsandbytes__nf4` or `__fp4`. With 8 bits, `weight` is I8, and `SCB` has 127 times
 * each row's scale.
 */
export const bitsandbytes: QuantisationScheme = {
  methods: ['bitsandbytes'],
  unconverted: ['llm_int8_skip_modules'],
  find: (model) => {
    if (hasConv1D(model)) return [];
    const { checkpoint } = model;
    const { tensors } = checkpoint;
    return [...tensors].flatMap(([stored, reference]): FoundTensor[] => {
      const { weight, table } = stateOf.exec(stored)?.groups ?? {};
      if (weight !== undefined) return [inFourBits(model, weight, stored, table === 'fp4' ? 'fp4' : 'nf4')];
      const half = ofFourBits.exec(stored)?.groups?.['weight'];
      const states = Object.keys(tables).map((one) => `${half}.quant_state.bitsandbytes__${one}`);
      if (half !== undefined && !states.some((one) => tensors.has(one)))
        tensorBeside(checkpoint, stored, states[0] ?? half);
      const [, module, part] = /^(.+)\.(weight|SCB)$/.exec(stored) ?? [];
      if (part === 'SCB') tensorBeside(checkpoint, stored, `${module}.weight`);
      const isCodes = part === 'weight' && (reference.dtype === 'I8' || tensors.has(`${module}.SCB`));
      return module !== undefined && isCodes ? [inRows(model, module, reference)] : [];
    });
  },
};

const size = z.int().positive();

const stateSchema = z.object({
  quant_type: z.enum(['nf4', 'fp4']),
  blocksize: size,
  shape: z.array(size).min(1).max(16),
  nested_blocksize: size.optional(),
  nested_dtype: z.literal('float32').optional(),
  nested_offset: z
    .number()
    .refine((offset) => Number.isFinite(Math.fround(offset)))
    .optional(),
});

type State = z.infer<typeof stateSchema>;

const readState = ({ checkpoint }: QuantisedCheckpoint, name: string, table: Table): State => {
  const reference = tensorBeside(checkpoint, name, name);
  const refuse = (reason: string): never => {
    throw invalidQuantisation(checkpoint, reference, name, reason);
  };
  const bytes = checkpoint.descriptions?.get(name);
  if (bytes === undefined)
    return refuse(
      `is ${reference.dtype} [${reference.shape.join(', ')}], and must be a text of at most ${mostDescriptionBytes} bytes that is here; fetch the model whole where it comes from the hub`,
    );
  const parsed = stateSchema.safeParse(jsonOrNone(bytes));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return refuse(
      `is not a valid state of bitsandbytes: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`,
    );
  }
  const state = parsed.data;
  return state.quant_type === table ? state : refuse(`says ${state.quant_type}`);
};

const inFourBits = (
  model: QuantisedCheckpoint,
  weight: string,
  stateName: string,
  table: Table,
): FoundTensor => {
  const { checkpoint } = model;
  const beside = (part: string): TensorReference => tensorBeside(checkpoint, weight, `${weight}.${part}`);
  tensorBeside(checkpoint, stateName, weight);
  const { shape, blocksize, ...state } = readState(model, stateName, table);
  const elements = elementCount(shape);
  if (elements === undefined)
    throw invalidQuantisation(
      checkpoint,
      checkpoint.tensors.get(stateName),
      stateName,
      `says the shape [${shape.join(', ')}], which no tensor has`,
    );
  const { nested_blocksize, nested_offset } = state;
  const isNested = checkpoint.tensors.has(`${weight}.nested_absmax`) || nested_blocksize !== undefined;
  if (isNested && (nested_blocksize === undefined || nested_offset === undefined))
    throw invalidQuantisation(
      checkpoint,
      checkpoint.tensors.get(stateName),
      stateName,
      `lacks nested_blocksize or nested_offset, and ${weight} has nested scales`,
    );
  const parts = ['absmax', 'quant_map', ...(isNested ? ['nested_absmax', 'nested_quant_map'] : [])];
  // Repeats the table above, because bitsandbytes requires it.
  beside('quant_map');
  return checkShape(model, {
    name: weight,
    shape,
    of: [weight, ...parts.map((part) => `${weight}.${part}`), stateName],
    form: {
      codes: tables[table],
      order: 'swapped',
      rows: 1,
      width: elements,
      stride: elements + (elements % 2),
      block: [1, blocksize],
      transposed: false,
      scales: beside('absmax'),
      nested:
        nested_blocksize === undefined || nested_offset === undefined
          ? undefined
          : {
              block: nested_blocksize,
              offset: Math.fround(nested_offset),
              numbers: beside('nested_quant_map'),
              scales: beside('nested_absmax'),
            },
    },
  });
};

const inRows = (model: QuantisedCheckpoint, module: string, codes: TensorReference): FoundTensor => {
  const { checkpoint } = model;
  const [name, scalesName, formatName] = [`${module}.weight`, `${module}.SCB`, `${module}.weight_format`];
  const scales = tensorBeside(checkpoint, name, scalesName);
  const format = checkpoint.tensors.get(formatName);
  // Format 0 is row order; other formats are GPU layouts of old versions.
  if (format !== undefined && checkpoint.descriptions?.get(formatName)?.join() !== '0')
    throw invalidQuantisation(
      checkpoint,
      format,
      formatName,
      'is not 0, and rows in no other order are read',
    );
  const found = inEightBits(model, { name, codes, scalesName, scales, block: undefined });
  return {
    ...found,
    of: [...found.of, ...(format === undefined ? [] : [formatName])],
    form: { ...found.form, after: Math.fround(1 / 127) },
  };
};
