import { itemAt } from '../../../base/errors/lookup.js';
import type { ModelReference } from '../../../methods/framework/declaration/method.js';
import type { Place } from '../../../models/architecture/architecture.js';
import { operandOf } from '../../adapted.js';
import { computedTensor } from '../../operands/computed.js';
import type { Operand } from '../../plan.js';
import { adapterModel } from '../adapters/adapter-model.js';
import type { Composed } from '../composed.js';
import type { OpenedModel } from './models.js';
import type { OpenedInputs } from './opened-inputs.js';
import { rolesOf } from './roles.js';

export const fromCheckpoint = (reference: ModelReference, inputs: OpenedInputs): OpenedModel =>
  storedModel(reference, inputs, inputs.indexOf(String(reference.model)));

export const storedModel = (
  reference: Pick<ModelReference, 'role' | 'path' | 'inPart'>,
  inputs: OpenedInputs,
  input: number,
): OpenedModel => {
  const { checkpoint, architecture, adapter } = itemAt(inputs.checkpoints, input);
  return {
    role: reference.role,
    ...(reference.path === undefined ? {} : { path: reference.path }),
    ...(reference.inPart === undefined ? {} : { inPart: reference.inPart }),
    checkpoint,
    architecture,
    ...(adapter === undefined ? {} : { adapter: adapterModel(adapter, input) }),
    operandOf: (name) => {
      const found = checkpoint.tensors.get(name);
      return found === undefined ? undefined : operandOf(input, found);
    },
    ...(checkpoint.configEdits === undefined ? {} : { configEdits: checkpoint.configEdits }),
  };
};

/** Returns a nested recipe as a model: its first model, with the recipe's tensors. */
export const asModel = (reference: ModelReference, composed: Composed): OpenedModel => {
  const [first] = composed.models;
  if (first === undefined) throw new Error('a recipe has a model');
  const { recipe, tensors, models, companions, settled } = composed;
  const names = models.map(({ checkpoint }) => checkpoint.name);
  const operands = new Map(
    tensors.map(({ name, dtype, expression }): [string, Operand] => [
      name,
      expression.kind === 'copy' ? expression.source : computedTensor(dtype, expression),
    ]),
  );
  const places = new Map<string, Place>(tensors.map(({ name, place }) => [name, place]));
  const { config } = first.checkpoint;
  return {
    role: reference.role,
    ...(reference.path === undefined ? {} : { path: reference.path }),
    ...(reference.inPart === undefined ? {} : { inPart: reference.inPart }),
    checkpoint: {
      ...first.checkpoint,
      name: `${recipe.method}(${names.join(', ')})`,
      // The references are never read, because `operandOf` returns formulas.
      tensors: new Map(
        tensors.map(({ name, dtype, shape }) => [name, { file: 0, begin: 0, end: 0, dtype, shape }]),
      ),
      config: config === undefined ? undefined : { ...config, ...composed.configEdits },
      warnings: [],
    },
    architecture: { ...first.architecture, layers: composed.layers, places },
    ...(composed.adapter === undefined ? {} : { adapter: composed.adapter.model }),
    operandOf: (name) => operands.get(name),
    configEdits: composed.configEdits,
    generationEdits: composed.generationEdits,
    tokenizer: composed.tokenizer,
    recipe: { method: recipe.method, ...rolesOf([...models, ...companions]), ...settled },
    complete: composed.complete,
    unmatched: composed.unmatched,
    warnings: composed.warnings,
  };
};
