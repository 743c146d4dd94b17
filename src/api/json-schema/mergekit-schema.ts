import { type JsonSchema, listOf, type Properties, reference, strict, text } from './json-schema.js';

// mergekit's dialect, as src/recipe/mergekit.ts reads it. A key without a value means the same as no key.

const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] });

const parametersOf = (names: readonly string[]): JsonSchema =>
  orNull({
    ...strict(Object.fromEntries(names.map((name) => [name, {}]))),
    description: 'Parameters of the method: a value, a list over the layers, or filter and value.',
  });

const modelReference: JsonSchema = {
  description: 'A directory, org/name, either with @revision, or a recipe.',
  anyOf: [
    text,
    reference('recipe'),
    strict({
      model: {
        anyOf: [text, reference('recipe'), strict({ path: text, revision: orNull(text) }, ['path'])],
      },
      lora: { type: 'null' },
      override_architecture: { type: 'null' },
    }),
  ],
};

const range: JsonSchema = {
  type: 'array',
  items: { type: 'integer', minimum: 0 },
  minItems: 2,
  maxItems: 2,
};

const contentsOf = (parameters: JsonSchema): Properties => ({
  models: orNull(listOf(strict({ model: modelReference, parameters }, ['model']))),
  slices: orNull(
    listOf(
      strict(
        {
          sources: listOf(
            strict({ model: modelReference, layer_range: range, parameters }, ['model', 'layer_range']),
          ),
          base_model: orNull(modelReference),
          residual_weight: { type: 'null' },
          parameters,
        },
        ['sources'],
      ),
    ),
  ),
});

const tokenizerSource: JsonSchema = { anyOf: [{ enum: ['base', 'union'] }, modelReference] };

const modelToken = (token: Properties): JsonSchema =>
  strict({ kind: { const: 'model_token' }, model: modelReference, ...token }, ['kind', 'model']);

const token: JsonSchema = strict({
  source: orNull({
    description: 'Where the embedding comes from: a model, zeros, or another token.',
    anyOf: [
      modelReference,
      strict({ kind: { const: 'zero' } }, ['kind']),
      modelToken({ token: orNull(text), token_id: { type: 'null' } }),
      modelToken({ token_id: orNull({ type: 'integer', minimum: 0 }), token: { type: 'null' } }),
    ],
  }),
  force: { type: 'boolean', description: 'Also for models that have the token.' },
});

/**
 * Makes the schema of a recipe of mergekit's dialect.
 *
 * @param methods names of methods
 * @param names the parameters of all of them, in snake case
 */
export const mergekitSchema = (methods: readonly string[], names: readonly string[]): JsonSchema => {
  const parameters = parametersOf(names);
  const contents = contentsOf(parameters);
  return strict(
    {
      merge_method: { description: 'The method of the merge.', enum: methods },
      ...contents,
      modules: orNull({ type: 'object', additionalProperties: strict({ ...contents, parameters }) }),
      base_model: orNull(modelReference),
      parameters,
      dtype: orNull({ type: 'string', description: 'The dtype of the arithmetic, and of the output.' }),
      out_dtype: orNull({ type: 'string', description: 'The dtype of the output.' }),
      tokenizer_source: orNull(tokenizerSource),
      tokenizer: orNull(
        strict({
          source: orNull(tokenizerSource),
          tokens: orNull({ type: 'object', additionalProperties: token }),
          pad_to_multiple_of: orNull({ type: 'integer', minimum: 1 }),
        }),
      ),
      chat_template: orNull(text),
      name: orNull(text),
    },
    ['merge_method'],
  );
};
