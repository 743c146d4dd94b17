import { commonSettings, outputSettings } from '../../core/methods/framework/declaration/common-settings.js';
import type { Method } from '../../core/methods/framework/declaration/method.js';
import { factsOf } from '../../core/methods/framework/declaration/parameter-facts.js';
import { methods } from '../../core/methods/index.js';
import { spelt } from '../../core/methods/recipe/block.js';
import { partWords } from '../../core/methods/recipe/model-places.js';
import {
  byKey,
  converted,
  type JsonSchema,
  listOf,
  oneValueOf,
  type Properties,
  propertiesOf,
  reference,
  strict,
  text,
} from '../../core/schema/json-schema.js';
import { shapeOf } from '../../core/schema/recipe-schema.js';
import { experimentSchema as fileSchema } from './file/blocks/experiment-block.js';

const grid = (value: JsonSchema): JsonSchema => ({
  ...('description' in value ? { description: value['description'] } : {}),
  anyOf: [value, listOf(value)],
});

const numbers = listOf({ type: 'number' });

const weights: JsonSchema = {
  description:
    'uniform, magnitude, or two numbers: the weights of the task and the language expert. A list tries each of its values.',
  anyOf: [
    { enum: ['uniform', 'magnitude'] },
    numbers,
    listOf({ anyOf: [{ enum: ['uniform', 'magnitude'] }, numbers] }),
  ],
};

const layers: JsonSchema = {
  description: 'Numbers of bottom and top layers: [5, 2]. A list tries each of its pairs.',
  anyOf: [numbers, listOf(numbers)],
};

const base: JsonSchema = {
  ...grid(text),
  description: "A model, or task, language or base. Default: the experiment's base, if the method needs one.",
};

const rolesOf = (method: Method<never>): Properties => {
  const { takes } = method;
  const isForRuns = 'until' in shapeOf(method);
  const model = {
    ...grid(text),
    description: 'Names of experts, each merged alone; task and language mean all experts of that kind.',
  };
  if (takes.models === 'one') return { model };
  return {
    task: { ...grid(text), description: 'Names of task experts, or soup. Default: each of them.' },
    language: {
      ...grid(text),
      description: 'Names of language experts, soup or all-soup. Default: each of them.',
    },
    ...(takes.models === 'list' ? { model } : {}),
    ...(isForRuns
      ? {
          run: {
            ...grid(text),
            description: 'Names of training runs, whose checkpoints are averaged in windows.',
          },
        }
      : {}),
  };
};

const common: Properties = {
  ...propertiesOf(commonSettings),
  ...propertiesOf(outputSettings.omit({ layout: true, maxShardSize: true })),
  tokenizer_source: {
    ...text,
    description: 'Source of the tokenizer: base, union or a model. Default: the first model.',
  },
};

const parametersOf = (method: Method<never>): Properties => {
  const shape = Object.entries(shapeOf(method)).filter(
    ([name]) =>
      ![
        'task',
        'language',
        'model',
        'models',
        'slices',
        'base',
        'weights',
        'sharedExperts',
        'gates',
      ].includes(name),
  );
  const parameters = Object.fromEntries(
    shape.map(([name, schema]) => {
      const facts = factsOf(schema);
      // A list of parts is one value, not a list of values to try.
      if (name === 'parts') return [name, converted(schema)];
      return [spelt(name), grid(facts === undefined ? converted(schema) : oneValueOf(facts.spec))];
    }),
  );
  return {
    ...('weights' in shapeOf(method) ? { weights } : {}),
    ...('bottom' in parameters ? { layers } : {}),
    ...parameters,
    ...Object.fromEntries(Object.entries(common).map(([name, value]) => [name, grid(value)])),
  };
};

const entryOf = (method: Method<never>): JsonSchema =>
  strict({
    name: text,
    method: { const: method.name, description: method.title },
    base,
    ...rolesOf(method),
    ...parametersOf(method),
  });

const severalMethods = (known: readonly Method<never>[]): JsonSchema =>
  strict({
    ...Object.assign({}, ...known.map(parametersOf)),
    ...Object.assign({}, ...known.map(rolesOf)),
    ...{ name: text, base, method: listOf({ enum: known.map(({ name }) => name) }) },
  });

const evaluation = ({ description, ...settings }: JsonSchema): JsonSchema => ({
  description,
  if: { properties: { harness: { not: { const: 'lm-eval' } } }, required: ['harness'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { type: 'object' },
  else: { ...settings, required: [] },
});

export const experimentSchema = (): JsonSchema => {
  const file = converted(fileSchema) as { properties: Properties };
  const known = [...methods.values()].filter(({ filesOfModels }) => filesOfModels === undefined);
  const names = known.map(({ name }) => name);
  const entries = new Map(names.map((name) => [name, reference(name)]));
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'An experiment of layerloom',
    ...file,
    properties: { ...file.properties, evaluate: evaluation(file.properties['evaluate'] ?? {}) },
    $defs: {
      merge: {
        type: 'object',
        properties: {
          name: { ...text, description: 'The name of its directory.' },
          method: {
            description: 'The method, or a list of methods to try.',
            anyOf: [{ enum: names }, listOf({ enum: names })],
          },
        },
        required: ['name', 'method'],
        allOf: [
          ...byKey('method', entries),
          {
            if: { properties: { method: { type: 'array' } }, required: ['method'] },
            // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
            then: reference('several'),
          },
        ],
      },
      model: { description: 'A model of the pair, or its base.', enum: [...partWords] },
      several: severalMethods(known),
      ...Object.fromEntries(known.map((method) => [method.name, entryOf(method)])),
    },
  };
};
