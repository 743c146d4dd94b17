import { layerloomCommand } from '../../base/command-line.js';
import { evaluationSchema, evaluationWords } from '../../evaluation/settings.js';
import { searchSchema } from '../../experiment/file/search-block.js';
import type { Method } from '../../methods/framework/method.js';
import { factsOf } from '../../methods/framework/parameter-facts.js';
import { methods } from '../../methods/index.js';
import {
  byKey,
  converted,
  dtype,
  type JsonSchema,
  listOf,
  oneValueOf,
  type Properties,
  reference,
  spelt,
  strict,
  text,
} from './json-schema.js';
import { allowNonFinite, commonProperties, layoutProperties, shapeOf } from './recipe-schema.js';

/** One value, or a list of values to try. */
const grid = (value: JsonSchema): JsonSchema => ({
  ...('description' in value ? { description: value['description'] } : {}),
  anyOf: [value, listOf(value)],
});

const numbers = listOf({ type: 'number' });

const weights: JsonSchema = {
  description: 'uniform, magnitude, or two numbers of task and language expert; a list of such to try.',
  anyOf: [
    { enum: ['uniform', 'magnitude'] },
    numbers,
    listOf({ anyOf: [{ enum: ['uniform', 'magnitude'] }, numbers] }),
  ],
};

const layers: JsonSchema = {
  description: 'Bottom and top layers together: [5, 2], or a list of such pairs to try.',
  anyOf: [numbers, listOf(numbers)],
};

const base: JsonSchema = {
  ...grid(text),
  description: "A model, or task, language or base. Default: the experiment's where the method needs one.",
};

/** Experts that an entry merges, by the method's number of models. */
const rolesOf = ({ takes }: Method<never>): Properties =>
  takes.models === 'one'
    ? { model: { ...grid(text), description: 'Experts by name; task and language are all of a kind.' } }
    : {
        task: { ...grid(text), description: 'Task experts by name, or soup. Default each.' },
        language: { ...grid(text), description: 'Language experts by name, soup or all-soup. Default each.' },
      };

const parametersOf = (method: Method<never>): Properties => {
  const shape = Object.entries(shapeOf(method)).filter(
    ([name]) => !['task', 'language', 'model', 'models', 'slices', 'base', 'weights'].includes(name),
  );
  const parameters = Object.fromEntries(
    shape.map(([name, schema]) => {
      const facts = factsOf(schema);
      return [spelt(name), grid(facts === undefined ? converted(schema) : oneValueOf(facts.spec))];
    }),
  );
  return {
    ...('weights' in shapeOf(method) ? { weights } : {}),
    ...('bottom' in parameters ? { layers } : {}),
    ...parameters,
    ...Object.fromEntries(Object.entries(commonProperties).map(([name, value]) => [name, grid(value)])),
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

/** An entry with several methods: it may have the parameters of each. */
const severalMethods = (known: readonly Method<never>[]): JsonSchema =>
  strict({
    ...Object.assign({}, ...known.map(parametersOf)),
    ...Object.assign({}, ...known.map(rolesOf)),
    ...{ name: text, base, method: listOf({ enum: known.map(({ name }) => name) }) },
  });

const experts = (description: string): JsonSchema => ({
  description,
  type: 'object',
  minProperties: 1,
  additionalProperties: text,
});

const furtherReference: JsonSchema = {
  anyOf: [text, strict({ model: text, role: text, languages: grid(text) }, ['model'])],
};

/** `evaluate:`, each key with the words that its errors have. Settings of another harness are not checked. */
const evaluate = (): JsonSchema => {
  const { properties, ...rest } = converted(evaluationSchema) as { properties: Properties };
  const words: Readonly<Record<string, string>> = evaluationWords;
  const described = Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [name, { description: words[name], ...value }]),
  );
  return {
    description: `What to measure, by ${layerloomCommand('evaluate')}.`,
    if: { properties: { harness: { not: { const: 'lm-eval' } } }, required: ['harness'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { type: 'object' },
    else: { ...rest, properties: described, required: [] },
  };
};

/** Makes the JSON Schema of an experiment's file from the methods' schemas. */
export const experimentSchema = (): JsonSchema => {
  const known = [...methods.values()];
  const names = known.map(({ name }) => name);
  const entries = new Map(names.map((name) => [name, reference(name)]));
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'An experiment of layerloom',
    ...strict(
      {
        base: { ...text, description: 'The model that all experts were fine-tuned from.' },
        tasks: experts('Task experts: NAME: PATH each.'),
        languages: {
          description: 'Languages, each with its experts.',
          type: 'object',
          minProperties: 1,
          additionalProperties: experts('Language experts: NAME: PATH each.'),
        },
        merges: { ...listOf(reference('merge')), description: 'The merges of every pair of experts.' },
        evaluate: evaluate(),
        search: { ...converted(searchSchema), description: `Defaults of ${layerloomCommand('search')}.` },
        references: {
          description:
            'List the base and the experts beside the merges, or further models by name. Default true.',
          anyOf: [
            { type: 'boolean' },
            { type: 'object', minProperties: 1, additionalProperties: furtherReference },
          ],
        },
        dtype: { ...dtype, description: 'The floating dtype of merges that say no other.' },
        allow_non_finite: allowNonFinite,
        tokenizer_source: {
          enum: ['auto', 'strict', 'union', 'base'],
          description: 'Whose vocabulary merges have that say no other, where their models differ in theirs.',
        },
        ...layoutProperties,
      },
      ['tasks', 'languages', 'merges'],
    ),
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
      several: severalMethods(known),
      ...Object.fromEntries(known.map((method) => [method.name, entryOf(method)])),
    },
  };
};
