import { build, takeGlobal, takeStorage } from './globals.js';
import { Machine } from './machine.js';
import { invalidTorchFile, unsupported } from './refusals.js';
import { emptyDict, isDict, type Value } from './values.js';

type Operations = Readonly<Record<number, (machine: Machine) => void>>;

/** The opcodes in a writer's pickles. */
export interface Grammar {
  /** The writer's name for messages: `torch.save`. */
  readonly writer: string;
  readonly operations: Operations;
  /** Limits on time and memory. */
  readonly mostOperations: number;
  readonly mostObjects: number;
}

/** PROTO */
export const protocol =
  (...known: readonly number[]) =>
  (machine: Machine): void => {
    const given = machine.byte();
    if (!known.includes(given))
      throw unsupported(machine.file, `its pickle is of protocol ${given}, and not ${known.join(' or ')}`);
  };

/** Opcodes of plain values, named as in Python's pickletools. */
export const plainOperations: Operations = {
  // MARK
  40: (machine) => machine.mark(),
  // NONE, NEWTRUE, NEWFALSE
  78: (machine) => machine.push(null),
  136: (machine) => machine.push(true),
  137: (machine) => machine.push(false),
  // BININT, BININT1, BININT2, LONG1
  74: (machine) => machine.push(machine.take(4).readInt32LE()),
  75: (machine) => machine.push(machine.byte()),
  77: (machine) => machine.push(machine.take(2).readUInt16LE()),
  138: (machine) => machine.push(machine.long(machine.byte())),
  // BINFLOAT
  71: (machine) => machine.push(machine.take(8).readDoubleBE()),
  // BINUNICODE
  88: (machine) => machine.push(machine.text(machine.take(machine.take(4).readUInt32LE()))),
  // EMPTY_LIST, EMPTY_DICT
  93: (machine) => machine.push({ kind: 'list', items: [] }),
  125: (machine) => machine.push(emptyDict()),
  // EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3, TUPLE
  41: (machine) => machine.tuple(0),
  133: (machine) => machine.tuple(1),
  134: (machine) => machine.tuple(2),
  135: (machine) => machine.tuple(3),
  116: (machine) => machine.push({ kind: 'tuple', items: machine.popToMark() }),
  // APPEND, APPENDS
  97: (machine) => machine.append([machine.pop()]),
  101: (machine) => machine.append(machine.popToMark()),
  // SETITEM, SETITEMS
  115: (machine) => {
    const value = machine.pop();
    machine.setItems([machine.pop(), value]);
  },
  117: (machine) => machine.setItems(machine.popToMark()),
  // BINPUT, LONG_BINPUT, BINGET, LONG_BINGET
  113: (machine) => machine.put(machine.byte()),
  114: (machine) => machine.put(machine.take(4).readUInt32LE()),
  104: (machine) => machine.get(machine.byte()),
  106: (machine) => machine.get(machine.take(4).readUInt32LE()),
};

export const torchSave: Grammar = {
  writer: 'torch.save',
  // A file with 100,000 tensors needs far fewer.
  mostOperations: 8_000_000,
  mostObjects: 1_000_000,
  operations: {
    ...plainOperations,
    128: protocol(2),
    // GLOBAL
    99: (machine) => machine.push(takeGlobal(`${machine.line()}.${machine.line()}`, machine.file)),
    // INST imports and calls at once.
    105: (machine) => {
      takeGlobal(`${machine.line()}.${machine.line()}`, machine.file);
      throw unwritten('INST', machine.file, 'torch.save');
    },
    // BINPERSID
    81: (machine) => machine.push(takeStorage(machine.pop(), machine.file)),
    // REDUCE
    82: (machine) => {
      const args = machine.pop();
      machine.push(build(machine.pop(), args, machine.file));
    },
    // BUILD: attributes of an OrderedDict, such as a state dict's `_metadata`
    98: (machine) => {
      const state = machine.pop();
      if (!isDict(state) || !isDict(machine.top()))
        throw unsupported(machine.file, 'its pickle sets the state of an object (BUILD)');
    },
  },
};

const otherNames: Readonly<Record<number, string>> = {
  48: 'POP',
  81: 'BINPERSID',
  99: 'GLOBAL',
  49: 'POP_MARK',
  50: 'DUP',
  66: 'BINBYTES',
  67: 'SHORT_BINBYTES',
  70: 'FLOAT',
  73: 'INT',
  76: 'LONG',
  80: 'PERSID',
  83: 'STRING',
  84: 'BINSTRING',
  85: 'SHORT_BINSTRING',
  86: 'UNICODE',
  100: 'DICT',
  103: 'GET',
  108: 'LIST',
  111: 'OBJ',
  112: 'PUT',
  129: 'NEWOBJ',
  130: 'EXT1',
  131: 'EXT2',
  132: 'EXT4',
  139: 'LONG4',
  140: 'SHORT_BINUNICODE',
  141: 'BINUNICODE8',
  142: 'BINBYTES8',
  143: 'EMPTY_SET',
  144: 'ADDITEMS',
  145: 'FROZENSET',
  146: 'NEWOBJ_EX',
  147: 'STACK_GLOBAL',
  148: 'MEMOIZE',
  149: 'FRAME',
  150: 'BYTEARRAY8',
  151: 'NEXT_BUFFER',
  152: 'READONLY_BUFFER',
};

const stop = 0x2e;

const unwritten = (opcode: string, file: string, writer: string) =>
  unsupported(file, `its pickle has the opcode ${opcode}, which ${writer} does not write`);

/**
 * Reads a pickle of torch.save (protocol 2), or of another grammar, as data. Imports, calls and executes
 * nothing: calls of known globals become plain values.
 *
 * @throws HEADER_INVALID; PICKLE_RUNS_CODE for any other global; WEIGHTS_UNSUPPORTED for other opcodes
 */
export const readPickle = (
  bytes: Uint8Array,
  file: string,
  { writer, operations, mostOperations, mostObjects }: Grammar = torchSave,
): Value => {
  const machine = new Machine(bytes, file, mostObjects);
  for (let done = 0; done < mostOperations; done += 1) {
    const opcode = machine.byte();
    if (opcode === stop) return machine.stop();
    const operation = operations[opcode];
    if (operation === undefined) {
      const name = otherNames[opcode];
      throw name === undefined
        ? invalidTorchFile(file, `its pickle has the byte ${opcode} in place of an opcode`)
        : unwritten(name, file, writer);
    }
    operation(machine);
  }
  throw invalidTorchFile(file, `its pickle has more than ${mostOperations} operations`);
};
