import { isCount } from '../../base/is-count.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { arithmeticOf, bitsOf, isDtype } from '../../tensor/dtype.js';
import { type StoredTensor, storedTensor } from '../../tensor/stored-tensor.js';
import type { OperandKind, ParseContext, Words } from './kind.js';

export const keyOfStored = (stored: StoredTensor, identify: Words): string =>
  `${identify(stored)}:${stored.begin}-${stored.end}:${stored.dtype}`;

export const readAs = (stored: StoredTensor, asBits: boolean): StoredTensor =>
  asBits ? { ...stored, dtype: arithmeticOf(stored.dtype) } : stored;

/** Parses a source without zod, which takes four times as long; plans are mostly sources. */
const asSource = (value: unknown): StoredTensor | undefined => {
  if (!isObject(value)) return undefined;
  const { input, file, begin, end, dtype, ...rest } = value;
  const isWhole = isCount(input) && isCount(file) && isCount(begin) && isCount(end) && isDtype(dtype);
  return isWhole && Object.keys(rest).length === 0
    ? storedTensor(input, { file, begin, end, dtype })
    : undefined;
};

/** Parses a source, which must lie within its file. */
export const parseSource = (value: unknown, { inputs, refuse }: ParseContext<unknown>): StoredTensor => {
  const source = asSource(value);
  if (source === undefined) return refuse('a source is not a range of a file in a known dtype');
  const { input, file, end } = source;
  const identity = inputs[input]?.files[file];
  if (identity === undefined) return refuse(`there is no file ${file} of input ${input}`);
  if (end > identity.bytes) return refuse('a source lies outside its file');
  return source;
};

export const stored: OperandKind<StoredTensor> = {
  key: 'input',
  parse: (value, context) => {
    const { target, refuse } = context;
    const source = parseSource(value, context);
    const { begin, end, dtype } = source;
    if ((end - begin) * 8 !== target.elements * bitsOf(dtype))
      return refuse(`a source has another length than ${target.elements} elements of ${dtype}`);
    return source;
  },
  sources: (tensor) => [tensor],
  tensor: (tensor) => tensor,
  describe: (tensor, nameOf) => nameOf(tensor),
  keyText: keyOfStored,
  weights: ({ input }) => new Map([[input, 1]]),
  lower: async (tensor, { program }, asBits) => program.source(readAs(tensor, asBits)),
  move: (source) => ({ kind: 'copy', source }),
  keepsBits: true,
};
