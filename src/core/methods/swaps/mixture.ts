import * as z from 'zod';
import { schemaOf } from '../framework/declaration/declared.js';
import type { Method, ModelReference } from '../framework/declaration/method.js';
import { mergekit } from '../framework/declaration/papers.js';
import { modelSchema } from '../framework/declaration/parameters.js';
import type { ModelInput } from '../framework/declaration/recipe-input.js';
import { compileMixture, type Expert } from '../framework/mixture-outputs.js';

export const gateModes = [
  'hidden',
  'hidden_avg',
  'hidden_last',
  'cheap_embed',
  'random',
  'uniform_random',
] as const;

/** A dense model, whose MLPs become an expert in each layer. */
export interface MixtureExpert {
  model: ModelInput;
  /** Texts to route to this expert, and texts to keep from it. */
  positivePrompts?: readonly string[] | undefined;
  negativePrompts?: readonly string[] | undefined;
  /** Factor of the expert's down projections, and thus of its output. Default 1. */
  residualScale?: number | undefined;
  /** Standard deviation of normal noise added to the expert's weights. Default 0. */
  noiseScale?: number | undefined;
}

/** Parameters of `mixture`. */
export interface MixtureParameters {
  /** Model for attention, norms, embeddings and tokenizer. */
  base: ModelInput;
  /** Models whose MLPs become the experts that routers choose from. */
  models: readonly (ModelInput | MixtureExpert)[];
  /** The expert that processes every token; at most one. */
  sharedExperts?: readonly (ModelInput | MixtureExpert)[] | undefined;
  /**
   * Source of the routers. `random` (normal) and `uniform_random` draw numbers. Others need the file `gates`,
   * made by `layerloom_gates` from the prompts' hidden states (`hidden`; `hidden_last`: of the last token;
   * `hidden_avg`: their mean) or embeddings (`cheap_embed`). Default `hidden`.
   */
  gateMode?: (typeof gateModes)[number] | undefined;
  /** The routers' file. */
  gates?: string | undefined;
  /** Experts per token. Default 2. */
  expertsPerToken?: number | undefined;
  /** The start of `Mixtral`, `DeepSeek MoE`, `Qwen MoE` or `Qwen3 MoE`. Default: the first that fits. */
  architecture?: string | undefined;
  /** Seed of random routers and noise. Default 0. */
  seed?: number | undefined;
}

const prompts = z.array(z.string({ error: 'a text: put it in quotes' }), { error: 'a list of texts' });

const asExpert = (value: ModelInput | MixtureExpert): unknown =>
  typeof value === 'object' && value !== null && 'model' in value && !('method' in value)
    ? value
    : { model: value };

export const expertSchema = z.preprocess(
  asExpert,
  z.strictObject({
    model: modelSchema,
    positivePrompts: prompts.optional(),
    negativePrompts: prompts.optional(),
    residualScale: z.number({ error: 'a finite number' }).optional(),
    noiseScale: z
      .number({ error: 'a finite number, 0 or more' })
      .min(0, { error: 'a finite number, 0 or more' })
      .optional(),
  }),
);

const experts = z
  .array(expertSchema, { error: 'a list of models, each with its prompts' })
  .min(1, { error: 'at least one expert' });

const drawn: ReadonlySet<string> = new Set(['random', 'uniform_random']);

const schema = schemaOf<MixtureParameters>()(
  z
    .strictObject({
      base: modelSchema,
      models: experts,
      sharedExperts: experts.max(1, { error: 'one shared expert at most' }).optional(),
      gateMode: z.enum(gateModes, { error: `one of ${gateModes.join(', ')}` }).default('hidden'),
      gates: z.string({ error: 'a file' }).min(1, { error: 'a file' }).optional(),
      expertsPerToken: z
        .int({ error: 'a whole number from 1 on' })
        .min(1, { error: 'a whole number from 1 on' })
        .default(2),
      architecture: z.string({ error: 'the name of a family of mixtures' }).optional(),
      seed: z
        .int({ error: 'a whole number, 0 or more' })
        .min(0, { error: 'a whole number, 0 or more' })
        .default(0),
    })
    .superRefine(({ models, gateMode, gates, expertsPerToken }, { addIssue }) => {
      const refuse = (path: (string | number)[], message: string) =>
        addIssue({ code: 'custom', path, message });
      if (expertsPerToken > models.length)
        refuse(['expertsPerToken'], `at most ${models.length}, the number of experts`);
      if (drawn.has(gateMode)) {
        if (gates !== undefined) refuse(['gates'], `no file where gate_mode is ${gateMode}`);
        return;
      }
      const silent = models.findIndex(({ positivePrompts = [] }) => positivePrompts.length === 0);
      if (silent !== -1)
        refuse(
          ['models', silent, 'positivePrompts'],
          `texts that are to be routed to the expert, which gate_mode ${gateMode} needs; gate_mode random needs none`,
        );
      const texts = models.map(({ positivePrompts, negativePrompts = [] }) =>
        JSON.stringify([positivePrompts, negativePrompts]),
      );
      if (models.length > 1 && new Set(texts).size === 1)
        refuse(['models'], 'experts with other prompts than each other: a router cannot tell these apart');
      if (gates === undefined)
        refuse(
          ['gates'],
          `the file of the routers, which gate_mode ${gateMode} needs: \`python -m layerloom_gates RECIPE -o gates.safetensors\` makes it of the prompts; gate_mode random needs none`,
        );
    }),
);

type Parameters = z.output<typeof schema>;

/**
 * Makes a mixture of experts as mergekit-moe does. Attention, norms and embeddings come from the base,
 * experts from the models' MLPs, and routers from random numbers or a file.
 */
export const mixture: Method<Parameters> = {
  name: 'mixture',
  title: 'Mixture of experts',
  citations: [mergekit],
  schema,
  tags: ['moe', 'frankenmoe'],
  takes: { base: 'required', models: 'list' },
  keepsCard: false,
  needsLayers: true,
  standsAlone: true,
  models: ({ base, models, sharedExperts = [], gates }) => [
    { role: 'base', model: base },
    ...models.map(inPart('expert', 'models')),
    ...sharedExperts.map(inPart('shared', 'sharedExperts')),
    ...(gates === undefined ? [] : [{ role: 'gates', model: gates, inPart: true }]),
  ],
  companions: () => [],
  compile: ({ models, sharedExperts = [], ...rest }, context) =>
    compileMixture(
      {
        ...rest,
        experts: models.map(expertOf('models')),
        shared: sharedExperts.map(expertOf('sharedExperts')),
        drawn: drawn.has(rest.gateMode),
      },
      context,
    ),
};

const inPart =
  (role: string, key: string) =>
  ({ model }: { readonly model: ModelInput }, index: number): ModelReference => ({
    role,
    model,
    path: [key, index, 'model'],
    inPart: true,
  });

const expertOf =
  (key: string) =>
  (
    { model, positivePrompts = [], residualScale = 1, noiseScale = 0 }: Parameters['models'][number],
    index: number,
  ): Expert => ({
    model,
    path: [key, index, 'model'],
    hasPrompts: positivePrompts.length > 0,
    residualScale,
    noiseScale,
  });
