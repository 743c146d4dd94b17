import { build, takeGlobal } from '../torch/globals.js';
import { type Grammar, readPickle, torchSave } from '../torch/pickle.js';
import { invalidTorchFile } from '../torch/refusals.js';
import { globalName, isDict, tupleItems, type Value } from '../torch/values.js';

const sizeName = 'torch.Size';

/**
 * The function that rebuilds a tensor with attributes. Arguments: the function that makes the tensor, the
 * tensor's class, that function's arguments, the attributes.
 */
const fromType = 'torch._tensor._rebuild_from_type_v2';

/** Classes that only DeepSpeed's states have. Instances are not made, only kept as data. */
const classes: ReadonlySet<string> = new Set([
  ...[sizeName, fromType, 'torch.Tensor', 'torch.nn.parameter.Parameter', 'argparse.Namespace'],
  ...['LossScaler', 'DynamicLossScaler'].map((name) => `deepspeed.runtime.fp16.loss_scaler.${name}`),
  ...['__builtin__.set', 'builtins.set'],
  'deepspeed.runtime.zero.config.ZeroStageEnum',
  'deepspeed.utils.tensor_fragment.fragment_address',
]);

const made = (callee: Value, args: Value, file: string): Value => {
  const name = globalName(callee);
  if (name === undefined || !classes.has(name)) return build(callee, args, file);
  const items = tupleItems(args);
  if (items === undefined) throw invalidTorchFile(file, `its pickle calls ${name} without arguments`);
  const [first, , inner] = items;
  if (name === fromType) return build(first, inner, file);
  if (name === sizeName && items.length === 1 && tupleItems(first) !== undefined) return first as Value;
  return { kind: 'object', name, args: items, state: undefined };
};

const grammar: Grammar = {
  ...torchSave,
  writer: 'DeepSpeed',
  operations: {
    ...torchSave.operations,
    // GLOBAL
    99: (machine) => {
      const name = `${machine.line()}.${machine.line()}`;
      machine.push(classes.has(name) ? { kind: 'global', name } : takeGlobal(name, machine.file));
    },
    // REDUCE, NEWOBJ
    ...Object.fromEntries(
      [82, 129].map((code) => [
        code,
        (machine) => {
          const args = machine.pop();
          machine.push(made(machine.pop(), args, machine.file));
        },
      ]) satisfies [number, Grammar['operations'][number]][],
    ),
    // BUILD: attributes, which are ignored
    98: (machine) => {
      machine.pop();
      const object = machine.top();
      if (!isDict(object) && !(typeof object === 'object' && object?.kind === 'object'))
        throw invalidTorchFile(machine.file, 'its pickle sets the state of no object');
    },
  },
};

/**
 * Reads the pickle in a DeepSpeed file of states, as data.
 *
 * @throws HEADER_INVALID, PICKLE_RUNS_CODE, WEIGHTS_UNSUPPORTED
 */
export const readStatesPickle = (bytes: Uint8Array, file: string): Value => readPickle(bytes, file, grammar);
