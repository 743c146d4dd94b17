import * as z from 'zod';
import { type SettingWords, wordsOf } from '../base/errors/setting.js';
import { capitalised } from '../base/format.js';
import { modelSchema } from '../methods/framework/declaration/parameters.js';
import type { ParameterSpec } from '../methods/framework/declaration/settings.js';
import { spelt } from '../methods/recipe/block.js';
import { expertSchema } from '../methods/swaps/mixture.js';

/** A JSON Schema of draft 7, which editors support best. */
export type JsonSchema = Readonly<Record<string, unknown>>;

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

const valuesOf = ({ expected, default: preset }: ParameterSpec): string =>
  `${capitalised(expected)}.${preset === undefined ? '' : ` Default ${preset}.`}`;

export const oneValueOf = (spec: ParameterSpec): JsonSchema => ({
  description: valuesOf(spec),
  ...(spec.json ?? { type: ['number', 'boolean', 'string'] }),
});

export const settingOf = (spec: ParameterSpec): JsonSchema => {
  const value = spec.json ?? { type: ['number', 'boolean', 'string'] };
  const values = { anyOf: [value, listOf(value)] };
  const filtered = strict({ filter: { type: ['string', 'null'] }, value: values }, ['value']);
  return {
    description: `${valuesOf(spec)} A list is a gradient over the layers; filter and value choose by name.`,
    anyOf: [value, listOf(value), filtered, listOf(filtered)],
  };
};

/** Removes Markdown, which editors do not show. */
const description = ({ meaning, otherwise }: SettingWords): string => {
  const text = `${meaning}${otherwise === undefined ? '' : ` Default ${otherwise}.`}`;
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
};

/** Converts a schema. Models become `$ref`s, and keys are spelt as in files. */
export const converted = (schema: z.ZodType): JsonSchema => {
  const { $schema: _schema, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema === (modelSchema as z.core.$ZodType)) Object.assign(jsonSchema, reference('model'));
      if (zodSchema === (expertSchema as z.core.$ZodType)) {
        const withKeys = { ...jsonSchema };
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key as 'type'];
        Object.assign(jsonSchema, { anyOf: [reference('model'), withKeys] });
      }
      const words = wordsOf(zodSchema);
      if (words !== undefined) jsonSchema.description = description(words);
      const { properties, required } = jsonSchema;
      if (properties !== undefined)
        jsonSchema.properties = Object.fromEntries(
          Object.entries(properties).map(([name, value]) => [spelt(name), value]),
        );
      if (required !== undefined) jsonSchema.required = required.map(spelt);
    },
  });
  return json;
};

export const propertiesOf = (block: z.ZodObject): Properties =>
  (converted(block) as { properties: Properties }).properties;

/** Selects a schema by a key's value, so that editors report only one method's mistakes. */
export const byKey = (key: string, cases: ReadonlyMap<string, JsonSchema>): readonly JsonSchema[] =>
  [...cases].map(([value, then]) => ({
    if: { properties: { [key]: { const: value } }, required: [key] },
    then,
  }));
