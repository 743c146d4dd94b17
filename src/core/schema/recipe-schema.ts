import type { z } from 'zod';
import { commonSettings, outputSettings } from '../methods/framework/declaration/common-settings.js';
import type { Method } from '../methods/framework/declaration/method.js';
import { factsOf, type ParameterFacts } from '../methods/framework/declaration/parameter-facts.js';
import { methods } from '../methods/index.js';
import { spelt } from '../methods/recipe/block.js';
import {
  byKey,
  converted,
  type JsonSchema,
  listOf,
  type Properties,
  propertiesOf,
  reference,
  settingOf,
  strict,
  text,
} from './json-schema.js';
import { mergekitMoeSchema, mergekitSchema } from './mergekit-schema.js';

const tokenizerSource: JsonSchema = {
  description:
    'auto (default: unites the vocabularies if every shared token has the same id in all models, otherwise fails), strict (an error where vocabularies differ), union, base, or a model.',
  anyOf: [{ enum: ['auto', 'strict', 'union', 'base'] }, reference('model')],
};

const token: JsonSchema = strict(
  {
    token: text,
    source: {
      description: 'A model that has the token; another token of a model; or {zero: true}.',
      anyOf: [
        reference('model'),
        strict({ model: reference('model'), token: text }, ['model', 'token']),
        strict({ model: reference('model'), token_id: { type: 'integer', minimum: 0 } }, [
          'model',
          'token_id',
        ]),
        strict({ zero: { const: true } }, ['zero']),
      ],
    },
    force: { type: 'boolean', description: 'Also for models that have the token. Default false.' },
  },
  ['token'],
);

const common = propertiesOf(commonSettings);

/** Keys of the output; allowed in nested recipes too. */
const output = propertiesOf(outputSettings);

const recipeProperties: Properties = {
  ...common,
  ...output,
  tokenizer_source: tokenizerSource,
  tokenizer: {
    ...strict({
      source: tokenizerSource,
      tokens: listOf(token),
      pad_to_multiple_of: { type: 'integer', minimum: 1 },
    }),
    description: "The output's tokenizer and vocabulary, where the models differ in theirs.",
  },
};

const model: JsonSchema = {
  description:
    'A model: a directory, a file of weights, org/name in the hub cache, each also as NAME=MODEL; a recipe, the name of a document of this file, or another YAML file.',
  anyOf: [text, reference('recipe')],
};

const layerRange: JsonSchema = {
  description: 'The first layer, and the one after the last.',
  type: 'array',
  items: { type: 'integer', minimum: 0 },
  minItems: 2,
  maxItems: 2,
};

export const shapeOf = ({ schema }: Method<never>): Readonly<Record<string, z.ZodType>> =>
  schema.shape as Readonly<Record<string, z.ZodType>>;

/** Allows keys under `parameters` too, as both dialects do. */
const withParameters = (
  properties: Properties,
  settings: Properties,
  alternatives: readonly (readonly string[])[] = [],
): JsonSchema => {
  const { required: _required, ...mapping } = strict({
    ...properties,
    ...settings,
    parameters: { ...strict(settings), description: 'Parameters of the method, as mergekit places them.' },
  });
  if (alternatives.every((required) => required.length === 0)) return mapping;
  return {
    ...mapping,
    anyOf: [...alternatives.map((required) => ({ required })), { required: ['parameters'] }],
  };
};

const settingsOf = (method: Method<never>): Properties =>
  Object.fromEntries(
    Object.entries(shapeOf(method)).flatMap(([parameter, schema]) => {
      const facts = factsOf(schema);
      return facts === undefined ? [] : [[spelt(parameter), settingOf(facts.spec)]];
    }),
  );

const definitionOf = (method: string, parameter: string): string => `${method}.${parameter}`;

const tensorRecipe = (method: Method<never>, named: JsonSchema): JsonSchema => {
  const shape = shapeOf(method);
  const settingsWhere = (isWanted: (facts: ParameterFacts) => boolean): Properties =>
    Object.fromEntries(
      Object.entries(shape).flatMap(([parameter, schema]) => {
        const facts = factsOf(schema);
        if (facts === undefined || !isWanted(facts)) return [];
        const name = spelt(parameter);
        return [[name, reference(definitionOf(method.name, name))]];
      }),
    );
  const settings = settingsWhere(() => true);
  const own = settingsWhere(({ perModel }) => perModel);
  const entry = withParameters({ model: reference('model'), name: text }, own);
  const source = withParameters({ model: reference('model'), layer_range: layerRange }, own);
  const slice = withParameters(
    { sources: listOf({ ...source, required: ['model', 'layer_range'] }), base: reference('model') },
    settings,
  );
  const plain = Object.fromEntries(
    Object.entries(shape)
      .filter(
        ([name, schema]) => factsOf(schema) === undefined && !['base', 'models', 'slices'].includes(name),
      )
      .map(([name, schema]) => [spelt(name), converted(schema)]),
  );
  return withParameters(
    {
      method: named,
      base: reference('model'),
      models: listOf({ anyOf: [reference('model'), { ...entry, required: ['model'] }] }),
      slices: listOf({ ...slice, required: ['sources'] }),
      ...recipeProperties,
      name: text,
    },
    { ...plain, ...settings },
  );
};

export const ownProperties = (shape: Readonly<Record<string, z.ZodType>>): Properties =>
  Object.fromEntries(Object.entries(shape).map(([name, schema]) => [spelt(name), converted(schema)]));

const recipeOf = (method: Method<never>): JsonSchema => {
  const shape = shapeOf(method);
  const named = { const: method.name, description: method.title };
  if ('dialect' in shape) return tensorRecipe(method, named);
  const needed = Object.entries(shape)
    .filter(([, schema]) => !schema.safeParse(undefined).success)
    .map(([name]) => name);
  const alternatives = (method.required ?? [needed]).map((names) => names.map(spelt));
  const properties = ownProperties(shape);
  return withParameters({ method: named, ...recipeProperties, name: text }, properties, alternatives);
};

/** Returns the JSON Schema of recipes in both dialects, derived from the methods' schemas. */
export const recipeSchema = (): JsonSchema => {
  const known = [...methods.values()];
  const recipes = new Map(known.map((method) => [method.name, reference(method.name)]));
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'A recipe of layerloom',
    ...reference('recipe'),
    $defs: {
      recipe: {
        type: 'object',
        properties: { method: { description: 'The method of the merge.', enum: [...methods.keys()] } },
        anyOf: [{ required: ['method'] }, { required: ['merge_method'] }, { required: ['experts'] }],
        allOf: [
          ...byKey('method', recipes),
          // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
          { if: { required: ['merge_method'] }, then: reference('mergekit') },
          {
            if: {
              required: ['experts'],
              not: { anyOf: [{ required: ['method'] }, { required: ['merge_method'] }] },
            },
            // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
            then: reference('mergekitMoe'),
          },
        ],
      },
      model,
      mergekit: mergekitSchema(
        [...methods.keys()],
        [...new Set(known.flatMap((method) => Object.keys(settingsOf(method))))],
      ),
      mergekitMoe: mergekitMoeSchema,
      ...Object.fromEntries(known.map((method) => [method.name, recipeOf(method)])),
      ...Object.fromEntries(
        known.flatMap((method) =>
          Object.entries(settingsOf(method)).map(([name, setting]) => [
            definitionOf(method.name, name),
            setting,
          ]),
        ),
      ),
    },
  };
};
