import { itemAt } from '../../../base/errors/lookup.js';
import { type CodeKind, type CodeOrder, gridOf } from '../../../tensor/quantisation-layout.js';
import { elementCount, type TensorReference } from '../../../tensor/reference.js';
import { isObject } from '../../checkpoint/files/json.js';
import { asBlockSize, type BlockSize, inEightBits } from '../float8.js';
import {
  checkShape,
  type FoundTensor,
  invalidQuantisation,
  type QuantisationScheme,
  type QuantisedCheckpoint,
  type Settings,
  tensorBeside,
} from '../scheme.js';

interface WeightSettings {
  readonly bits: unknown;
  readonly type: unknown;
  /** Size of a block that shares a scale; absent if each row, or the tensor, has a scale. */
  readonly block: BlockSize | undefined;
}

export const weightSettings = (settings: Settings): readonly WeightSettings[] => {
  const groups = settings['config_groups'];
  if (!isObject(groups)) return [];
  return Object.values(groups).flatMap((group) => {
    const weights = isObject(group) ? group['weights'] : undefined;
    if (!isObject(weights)) return [];
    const size = weights['group_size'];
    const block =
      asBlockSize(weights['block_structure']) ??
      (typeof size === 'number' ? asBlockSize([1, size]) : undefined);
    return [{ bits: weights['num_bits'], type: weights['type'], block }];
  });
};

/** True if weights are of rotated inputs or outputs, and loaders rotate these by the settings. */
const isTransformed = ({ transform_config }: Settings): boolean => {
  if (!isObject(transform_config)) return false;
  const { config_groups: groups = transform_config } = transform_config;
  return isObject(groups) && Object.keys(groups).length > 0;
};

/**
 * Formats of compressed-tensors, recognised by a module's tensors:
 *
 * - `int-quantized` and `float-quantized`: 8-bit `weight`
 * - `pack-quantized`: `weight_packed` of 4 or 8 bits in I32
 * - `nvfp4-pack-quantized` and `mxfp4-pack-quantized`: `weight_packed` of E2M1 codes
 *
 * All have `weight_scale`; asymmetric ones, `weight_zero_point`. `weight_g_idx` gives the groups of columns.
 */
export const compressedTensors: QuantisationScheme = {
  methods: ['compressed-tensors'],
  unconverted: ['ignore'],
  find: (model) => {
    const { checkpoint, settings } = model;
    const { tensors } = checkpoint;
    if (isTransformed(settings)) return [];
    const groups = weightSettings(settings);
    return [...tensors].flatMap(([stored, codes]): FoundTensor[] => {
      const [, module, part = ''] =
        /^(.+)\.(weight|weight_packed|weight_scale|weight_zero_point)$/.exec(stored) ?? [];
      if (module === undefined) return [];
      if (part !== 'weight' && part !== 'weight_packed') {
        if (!tensors.has(`${module}.weight_packed`)) tensorBeside(checkpoint, stored, `${module}.weight`);
        return [];
      }
      const isPlain = part === 'weight' && !['F8_E4M3', 'F8_E5M2', 'I8'].includes(codes.dtype);
      if (isPlain && !tensors.has(`${module}.weight_scale`)) return [];
      const scales = tensorBeside(checkpoint, stored, `${module}.weight_scale`);
      const read = part === 'weight' ? inBytes : packed;
      const found = read(model, { module, stored, codes, scales, groups });
      return found === undefined ? [] : [checkShape(model, withZerosAndGroups(model, module, found))];
    });
  },
};

interface Module {
  readonly module: string;
  readonly stored: string;
  readonly codes: TensorReference;
  readonly scales: TensorReference;
  readonly groups: readonly WeightSettings[];
}

/** Returns the first block size that gives this number of scales, in rows wider than `padded`. */
const blockThatFits = (
  { scales, groups }: Module,
  rows: number,
  widthOf: (block: BlockSize) => number,
  padded = 0,
): BlockSize | undefined =>
  groups
    .flatMap(({ block }) => (block === undefined ? [] : [block]))
    .find(
      (block) =>
        widthOf(block) > padded &&
        Math.ceil(rows / block[0]) * Math.ceil(widthOf(block) / block[1]) === elementCount(scales.shape),
    );

const inBytes = (model: QuantisedCheckpoint, of: Module): FoundTensor => {
  const { stored, codes, scales, module } = of;
  const [rows = 1, width = 1] = codes.shape;
  const block = blockThatFits(of, rows, () => width);
  return inEightBits(model, { name: stored, codes, scalesName: `${module}.weight_scale`, scales, block });
};

/** Returns the kind of a packed weight's codes, and the number of codes in a stored element. */
const packingOf = ({ codes: { dtype }, groups }: Module): readonly [CodeKind, number] | undefined => {
  if (dtype === 'U8') return ['E2M1', 2];
  const bits = new Set(groups.flatMap((group) => (group.type === 'int' ? [group.bits] : [])));
  if (dtype !== 'I32' || bits.size !== 1) return undefined;
  if (bits.has(4)) return ['U4', 8];
  return bits.has(8) ? ['U8', 4] : undefined;
};

const packed = (model: QuantisedCheckpoint, of: Module): FoundTensor | undefined => {
  const { module, stored, codes, scales } = of;
  const packing = packingOf(of);
  if (packing === undefined) return undefined;
  const [kind, each] = packing;
  const { shape } = codes;
  const [rows, words, more] = shape;
  if (rows === undefined || words === undefined || more !== undefined || shape.includes(0))
    throw invalidQuantisation(
      model.checkpoint,
      codes,
      stored,
      `has the shape [${shape.join(', ')}], and no matrix is packed so`,
    );
  const stride = words * each;
  const count = elementCount(scales.shape) ?? 0;
  // The last packed word may have padding.
  const groups = scales.shape.length === 2 ? itemAt(scales.shape, 1) : 1;
  const whole = groups > 1 || each === 2 ? stride : widthSaid(model, module, [rows, stride - each, stride]);
  const widthOf = ([, columns]: BlockSize) => (groups > 1 ? Math.min(stride, groups * columns) : whole);
  const byRows: BlockSize = count === 1 ? [rows, stride] : [1, stride];
  const block = blockThatFits(of, rows, widthOf, stride - each) ?? byRows;
  const width = widthOf(block);
  const globalName = `${module}.weight_global_scale`;
  const global = model.checkpoint.tensors.get(globalName);
  return {
    name: `${module}.weight`,
    shape: [rows, width],
    of: [stored, `${module}.weight_scale`, ...(global === undefined ? [] : [globalName])],
    form: {
      codes: kind,
      rows,
      width,
      stride,
      block,
      transposed: false,
      scales,
      ...(global === undefined ? {} : { factor: { kind: 'divisor' as const, of: global } }),
    },
  };
};

/** Reads the width of rows in `weight_shape`, which loaders need, too. */
const widthSaid = (
  { checkpoint }: QuantisedCheckpoint,
  module: string,
  [rows, least, most]: readonly [rows: number, least: number, most: number],
): number => {
  const name = `${module}.weight_shape`;
  const reference = tensorBeside(checkpoint, `${module}.weight_packed`, name);
  const said = [...new BigInt64Array(new Uint8Array(checkpoint.descriptions?.get(name) ?? []).buffer)];
  const width = Number(said[1]);
  if (said.length === 2 && Number(said[0]) === rows && width > least && width <= most) return width;
  throw invalidQuantisation(
    checkpoint,
    reference,
    name,
    `says [${said.slice(0, 2).join(', ')}], and must be I64 [${rows}, a width above ${least} up to ${most}] that is here; fetch the model whole where it comes from the hub`,
  );
};

const withZerosAndGroups = (
  { checkpoint }: QuantisedCheckpoint,
  module: string,
  found: FoundTensor,
): FoundTensor => {
  const { of, form } = found;
  const [zerosName, groupsName] = [`${module}.weight_zero_point`, `${module}.weight_g_idx`];
  const [zeros, groups] = [zerosName, groupsName].map((name) => checkpoint.tensors.get(name));
  const columns = gridOf(form)[1];
  return {
    ...found,
    of: [...of, ...[zerosName, groupsName].filter((name) => checkpoint.tensors.has(name))],
    form: {
      ...form,
      zeros: zeros && { ...zerosOf(form.codes, zeros), stride: columns, oneMore: false, of: zeros },
      // With a scale per row, the order of columns does not matter.
      groups: columns > 1 ? groups : undefined,
    },
  };
};

const zerosOf = (
  codes: CodeKind,
  { dtype }: TensorReference,
): { readonly codes: CodeKind; readonly order?: CodeOrder } => {
  if ((codes === 'U4' || codes === 'U8') && dtype !== 'I8') return { codes, order: 'down' };
  return { codes: codes === 'F8_E4M3' || codes === 'F8_E5M2' ? codes : 'I8' };
};
