import { gateModes } from '../methods/swaps/mixture.js';
import { type JsonSchema, listOf, type Properties, reference, strict, text } from './json-schema.js';

// The schema of mergekit's dialect as src/core/methods/recipe/mergekit/mergekit.ts reads it. Keys with null
// count as absent.

const known = (properties: Properties, required: readonly string[] = []): JsonSchema => ({
  ...strict(properties, required),
  additionalProperties: { description: 'Not a key that mergekit reads: ignored.' },
});

const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] });

const orEmpty = (schema: JsonSchema): JsonSchema => ({
  anyOf: [schema, { enum: [null, ''] }, { type: 'array', maxItems: 0 }, { type: 'object', maxProperties: 0 }],
});

/** A whole number, which mergekit also accepts as text. */
const wholeNumber: JsonSchema = {
  anyOf: [
    { type: 'integer', minimum: 0 },
    { type: 'string', pattern: '^[0-9]+([.]0*)?$' },
  ],
};

const parametersOf = (names: readonly string[]): JsonSchema =>
  orNull({
    ...known(Object.fromEntries(names.map((name) => [name, {}]))),
    description: 'Parameters of the method: a value, a list over the layers, or filter and value.',
  });

const modelPath: JsonSchema = { anyOf: [text, known({ path: text, revision: orNull(text) }, ['path'])] };

const modelReference: JsonSchema = {
  description: 'A directory, org/name, either with @revision, or a recipe.',
  anyOf: [
    text,
    reference('recipe'),
    known(
      {
        model: { anyOf: [modelPath, reference('recipe')] },
        lora: orNull(modelPath),
        override_architecture: orNull(text),
      },
      ['model'],
    ),
  ],
};

const range: JsonSchema = { type: 'array', items: wholeNumber, minItems: 2, maxItems: 2 };

const contentsOf = (parameters: JsonSchema): Properties => ({
  models: orEmpty(listOf(known({ model: modelReference, parameters }, ['model']))),
  slices: orEmpty(
    listOf(
      known(
        {
          sources: listOf(
            known({ model: modelReference, layer_range: range, parameters }, ['model', 'layer_range']),
          ),
          base_model: orNull(modelReference),
          parameters,
        },
        ['sources'],
      ),
    ),
  ),
});

const tokenizerSource: JsonSchema = { anyOf: [{ enum: ['base', 'union'] }, modelReference] };

const modelToken = (token: Properties): JsonSchema =>
  known({ kind: { const: 'model_token' }, model: modelReference, ...token }, ['kind', 'model']);

const token: JsonSchema = known({
  source: orNull({
    description: 'Source of the embedding: a model, zeros, or another token.',
    anyOf: [
      modelReference,
      known({ kind: { const: 'zero' } }, ['kind']),
      modelToken({ token: orNull(text), token_id: { type: 'null' } }),
      modelToken({ token_id: orNull({ type: 'integer', minimum: 0 }), token: { type: 'null' } }),
    ],
  }),
  force: { type: 'boolean', description: 'Also for models that have the token.' },
});

export const mergekitSchema = (methods: readonly string[], names: readonly string[]): JsonSchema => {
  const parameters = parametersOf(names);
  const contents = contentsOf(parameters);
  const recipe = known(
    {
      merge_method: { description: 'The method of the merge.', enum: methods },
      ...contents,
      modules: orEmpty({ type: 'object', additionalProperties: known({ ...contents, parameters }) }),
      base_model: orNull(modelReference),
      parameters,
      dtype: orNull({ type: 'string', description: 'The dtype of the arithmetic, and of the output.' }),
      out_dtype: orNull({ type: 'string', description: 'The dtype of the output.' }),
      tokenizer_source: orEmpty(tokenizerSource),
      tokenizer: orNull(
        known({
          source: orNull(tokenizerSource),
          tokens: orNull({ type: 'object', additionalProperties: token }),
          pad_to_multiple_of: orNull(wholeNumber),
        }),
      ),
      chat_template: orEmpty(text),
      name: orNull(text),
    },
    ['merge_method'],
  );
  return { ...recipe, anyOf: ['models', 'slices', 'modules'].map((key) => ({ required: [key] })) };
};

const prompts = orNull({ type: 'array', items: { type: 'string' } });

const expert = known(
  {
    source_model: modelReference,
    positive_prompts: { ...prompts, description: 'Texts that are to be routed to the expert.' },
    negative_prompts: { ...prompts, description: 'Texts that are not.' },
    residual_scale: orNull({ type: 'number' }),
    noise_scale: orNull({ type: 'number', minimum: 0 }),
  },
  ['source_model'],
);

/** Schema of mergekit-moe's recipes, with our own keys, which mergekit-moe ignores. */
export const mergekitMoeSchema: JsonSchema = known(
  {
    base_model: modelReference,
    experts: listOf(expert),
    shared_experts: orNull({ type: 'array', items: expert, maxItems: 1 }),
    gate_mode: orNull({ enum: gateModes }),
    experts_per_token: orNull({ type: 'integer', minimum: 1 }),
    architecture: orNull({ ...text, description: 'The beginning of the name of a family of mixtures.' }),
    dtype: orNull({ type: 'string', description: 'The dtype of the output.' }),
    gates: orNull({ ...text, description: 'The file of the routers, by layerloom_gates.' }),
    seed: orNull({ type: 'integer', minimum: 0 }),
  },
  ['base_model', 'experts'],
);
