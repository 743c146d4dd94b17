import { itemAt } from '../../base/errors/lookup.js';
import type { CodeOrder } from '../../tensor/quantisation-layout.js';
import type { TensorReference } from '../../tensor/reference.js';
import {
  checkShape,
  type FoundTensor,
  invalidQuantisation,
  type QuantisedCheckpoint,
  tensorBeside,
} from './scheme.js';

/** How a scheme packs the codes of a matrix [in, out] into 32-bit words. */
export interface Packing {
  readonly bits: 4 | 8;
  /** Order of codes; `ofZeros` is that of zero points. */
  readonly order: CodeOrder;
  readonly ofZeros: CodeOrder;
  /** True if zero points are stored minus 1. */
  readonly oneMore: boolean;
  /** Number of input features that share a scale; undefined if all do. */
  readonly group: number | undefined;
}

/**
 * Returns the weight of a module with `qweight`, `qzeros` [groups, out] and `scales` [groups, out]; also
 * `g_idx` [in] if input features are not in the order of groups.
 *
 * @throws QUANTISATION_INVALID
 */
export const inWords = (
  model: QuantisedCheckpoint,
  module: string,
  { bits, order, ofZeros, oneMore, group }: Packing,
): FoundTensor => {
  const { checkpoint } = model;
  const each = 32 / bits;
  const [qweight, qzeros, scalesName, groupsName] = ['qweight', 'qzeros', 'scales', 'g_idx'].map(
    (part) => `${module}.${part}`,
  ) as [string, string, string, string];
  const words = (name: string): TensorReference => {
    const found = tensorBeside(checkpoint, qweight, name);
    const { dtype, shape } = found;
    if (dtype !== 'I32' || shape.length !== 2 || shape.includes(0))
      throw invalidQuantisation(
        checkpoint,
        found,
        name,
        `is ${dtype} [${shape.join(', ')}], and must be a matrix of I32`,
      );
    return found;
  };
  const [codes, zeros] = [words(qweight), words(qzeros)];
  const scales = tensorBeside(checkpoint, qweight, scalesName);
  const groups = checkpoint.tensors.get(groupsName);
  const [rowsOfWords, columnsOfWords] = [itemAt(codes.shape, 0), itemAt(codes.shape, 1)];
  const isDown = order === 'down';
  const rows = isDown ? rowsOfWords * each : rowsOfWords;
  const width = isDown ? columnsOfWords : columnsOfWords * each;
  const kind = bits === 4 ? 'U4' : 'U8';
  return checkShape(model, {
    name: `${module}.weight`,
    shape: [width, rows],
    of: [qweight, scalesName, qzeros, ...(groups === undefined ? [] : [groupsName])],
    form: {
      codes: kind,
      order,
      rows,
      width,
      stride: width,
      block: [group ?? rows, 1],
      transposed: true,
      scales,
      zeros: { codes: kind, order: ofZeros, stride: itemAt(zeros.shape, 1) * each, oneMore, of: zeros },
      groups,
    },
  });
};

/**
 * Returns the modules with packed tensors.
 *
 * @throws QUANTISATION_INVALID for tensors without codes
 */
export const modulesInWords = ({ checkpoint }: QuantisedCheckpoint): string[] =>
  [...checkpoint.tensors.keys()].flatMap((stored) => {
    const [, module, part] = /^(.+)\.(qweight|qzeros|g_idx)$/.exec(stored) ?? [];
    if (module === undefined) return [];
    tensorBeside(checkpoint, stored, `${module}.qweight`);
    return part === 'qweight' ? [module] : [];
  });

export const groupSize = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
