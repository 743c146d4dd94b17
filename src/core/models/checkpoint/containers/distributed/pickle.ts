import { LayerloomError } from '../../../../base/errors/errors.js';
import { short } from '../short-name.js';
import { dtypeOfGlobal } from '../torch/globals.js';
import type { Machine } from '../torch/machine.js';
import { type Grammar, plainOperations, protocol, readPickle } from '../torch/pickle.js';
import { invalidTorchFile } from '../torch/refusals.js';
import { globalName, tupleItems, type Value } from '../torch/values.js';

const metadata = 'torch.distributed.checkpoint.metadata';

export const classes = {
  metadata: `${metadata}.Metadata`,
  tensor: `${metadata}.TensorStorageMetadata`,
  bytes: `${metadata}.BytesStorageMetadata`,
  properties: `${metadata}.TensorProperties`,
  chunk: `${metadata}.ChunkStorageMetadata`,
  index: `${metadata}.MetadataIndex`,
  place: 'torch.distributed.checkpoint.filesystem._StorageInfo',
} as const;

const sizeName = 'torch.Size';

const passed: readonly string[] = [
  `${metadata}.StorageMeta`,
  `${metadata}._MEM_FORMAT_ENCODING`,
  'torch.serialization._get_layout',
  'pathlib.PosixPath',
  'pathlib.WindowsPath',
  'pathlib._local.PosixPath',
  'pathlib._local.WindowsPath',
];

const known: ReadonlySet<string> = new Set([...Object.values(classes), sizeName, ...passed]);

const takeGlobal = (name: string, file: string): Value => {
  if (known.has(name) || dtypeOfGlobal(name) !== undefined) return { kind: 'global', name };
  throw new LayerloomError('PICKLE_RUNS_CODE', { file, calls: short(name) });
};

/** Takes the arguments and the class below them from the stack. A `torch.Size` becomes its tuple. */
const instance = (machine: Machine): void => {
  const args = tupleItems(machine.pop());
  const name = globalName(machine.pop());
  if (args === undefined || name === undefined || !known.has(name))
    throw invalidTorchFile(machine.file, 'its pickle makes an object of no known class');
  const [items, ...more] = args;
  if (name !== sizeName) machine.push({ kind: 'object', name, args, state: undefined });
  else if (more.length === 0 && tupleItems(items) !== undefined) machine.push(items as Value);
  else throw invalidTorchFile(machine.file, 'its pickle makes a size as PyTorch does not');
};

const text = (machine: Machine, bytes: number): void => machine.push(machine.text(machine.take(bytes)));

const grammar: Grammar = {
  writer: 'torch.distributed.checkpoint',
  // Enough for 200,000 pieces of tensors.
  mostOperations: 64_000_000,
  mostObjects: 4_000_000,
  operations: {
    ...plainOperations,
    128: protocol(2, 3, 4, 5),
    // FRAME, MEMOIZE
    149: (machine) => void machine.take(8),
    148: (machine) => machine.memoize(),
    // SHORT_BINUNICODE
    140: (machine) => text(machine, machine.byte()),
    // GLOBAL, STACK_GLOBAL
    99: (machine) => machine.push(takeGlobal(`${machine.line()}.${machine.line()}`, machine.file)),
    147: (machine) => {
      const [name, module] = [machine.pop(), machine.pop()];
      if (typeof name !== 'string' || typeof module !== 'string')
        throw invalidTorchFile(machine.file, 'its pickle names a class that is no text');
      machine.push(takeGlobal(`${module}.${name}`, machine.file));
    },
    // REDUCE, NEWOBJ
    82: instance,
    129: instance,
    // BUILD
    98: (machine) => {
      const state = machine.pop();
      const object = machine.top();
      if (typeof object !== 'object' || object?.kind !== 'object' || object.state !== undefined)
        throw invalidTorchFile(machine.file, 'its pickle sets the state of no new object');
      object.state = state;
    },
  },
};

/**
 * Reads the pickle of a distributed checkpoint's `.metadata` as data.
 *
 * @throws HEADER_INVALID, PICKLE_RUNS_CODE, WEIGHTS_UNSUPPORTED
 */
export const readMetadataPickle = (bytes: Uint8Array, file: string): Value =>
  readPickle(bytes, file, grammar);
