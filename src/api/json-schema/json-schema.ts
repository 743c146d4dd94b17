import * as z from 'zod';
import { modelSchema } from '../../methods/framework/parameters.js';
import type { ParameterSpec } from '../../methods/framework/settings.js';
import { toSnakeCase } from '../../recipe/case.js';
import { dtypeNames } from '../../tensor/dtype.js';

/** A JSON Schema (draft 7, which editors know best). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Properties by their names in files. */
export type Properties = Readonly<Record<string, JsonSchema>>;

export const text: JsonSchema = { type: 'string', minLength: 1 };

export const reference = (name: string): JsonSchema => ({ $ref: `#/$defs/${name}` });

export const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items, minItems: 1 });

export const strict = (properties: Properties, required: readonly string[] = []): JsonSchema => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
  additionalProperties: false,
});

/** Returns the name of a parameter in files. */
export const spelt = (name: string): string => toSnakeCase(name) ?? name;

/** The words of a parameter's values: `a share above 0, at most 1. Default 1.` */
const wordsOf = ({ expected, default: preset }: ParameterSpec): string =>
  `${expected.charAt(0).toUpperCase()}${expected.slice(1)}.${preset === undefined ? '' : ` Default ${preset}.`}`;

/** One value of a parameter. */
export const oneValueOf = (spec: ParameterSpec): JsonSchema => ({
  description: wordsOf(spec),
  ...(spec.json ?? { type: ['number', 'boolean', 'string'] }),
});

/** A parameter of a recipe: a value, a gradient over the layers, or values by filters. */
export const settingOf = (spec: ParameterSpec): JsonSchema => {
  const value = spec.json ?? { type: ['number', 'boolean', 'string'] };
  const values = { anyOf: [value, listOf(value)] };
  const filtered = strict({ filter: { type: ['string', 'null'] }, value: values }, ['value']);
  return {
    description: `${wordsOf(spec)} A list is a gradient over the layers; filter and value choose by name.`,
    anyOf: [value, listOf(value), filtered, listOf(filtered)],
  };
};

/** Converts a zod schema, in which models are `$ref`s. */
export const converted = (schema: z.ZodType): JsonSchema => {
  const { $schema: _schema, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema === (modelSchema as z.core.$ZodType)) Object.assign(jsonSchema, reference('model'));
    },
  });
  return json;
};

/** Every spelling of a dtype, the shortest offered first. */
export const dtype: JsonSchema = {
  description: 'The floating dtype of the output. Default: each tensor keeps its own.',
  anyOf: [
    { enum: dtypeNames },
    { type: 'string', pattern: `^([Tt][Oo][Rr][Cc][Hh]\\.)?(${dtypeNames.map(anyCase).join('|')})$` },
  ],
};

/** A pattern that matches a name in any case: JSON Schema has no flag for it. */
function anyCase(name: string): string {
  return name.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

/** Chooses a schema by the value of a key, so that an editor reports a mistake against one method alone. */
export const byKey = (key: string, cases: ReadonlyMap<string, JsonSchema>): readonly JsonSchema[] =>
  [...cases].map(([value, then]) => ({
    if: { properties: { [key]: { const: value } }, required: [key] },
    then,
  }));
