import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { ownValue, valueAt } from '../../base/errors/lookup.js';
import { parseAddress } from '../address/address.js';
import { type FoundModel, originOf } from '../address/found-model.js';
import { type Architecture, describeArchitecture } from '../architecture/architecture.js';
import { languageModelOf } from '../architecture/families.js';
import type { Role } from '../architecture/role.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { configName } from '../checkpoint/files/file-names.js';
import { parseJsonObject } from '../checkpoint/files/json.js';
import { readSideFile } from '../checkpoint/files/small-file.js';
import { openFound } from '../checkpoint/open.js';
import { isTokenizerFile, listSideFiles } from '../checkpoint/side-files.js';
import { locate } from '../sources/locate.js';
import { known } from './known.js';
import { withoutWrappers } from './wrappers.js';

type Config = Readonly<Record<string, unknown>>;

/** A `config.json`, and the side files beside it, that a user gives for models without configuration. */
export interface GivenConfig {
  readonly given: string;
  readonly file: string;
  /** `config.json` and the side files, as a checkpoint without tensors. */
  readonly index: CheckpointIndex & { readonly config: Config; readonly folder: string };
  /** Texts of the configurations, without the tokenizer. */
  readonly texts: ReadonlyMap<string, string>;
  /** Weights in the same directory, such as the base's. */
  readonly beside: CheckpointIndex | undefined;
}

/**
 * Reads a directory with `config.json`, or only that file; undefined if none is given.
 *
 * @throws CONFIG_INVALID, MODEL_NOT_FOUND, READ_FAILED
 */
export const readGivenConfig = async (given: string | undefined): Promise<GivenConfig | undefined> => {
  if (given === undefined) return undefined;
  const found = await locate(await parseAddress(given));
  const isFolder = (await stat(found.path)).isDirectory();
  const file = isFolder ? join(found.path, configName) : found.path;
  const folder = dirname(file);
  const sideFiles = isFolder ? await listSideFiles(folder) : [configName];
  if (!sideFiles.includes(configName) || (!isFolder && !basename(file).endsWith('.json')))
    throw new LayerloomError('CONFIG_INVALID', {
      file,
      reason: isFolder
        ? 'is not there; give a directory that has it, or the file itself'
        : `is no ${configName}; give that, or its directory`,
    });
  const configurations = sideFiles.filter((name) => name.endsWith('.json') && !isTokenizerFile(name));
  const read = await Promise.all(
    configurations.map(
      async (name) => [name, await readSideFile(isFolder ? join(folder, name) : file)] as const,
    ),
  );
  const texts = new Map(read.map(([name, bytes]) => [name, bytes.toString()]));
  const text = valueAt(texts, configName);
  const bytes = valueAt(new Map(read), configName);
  const config = parseJsonObject(bytes, file);
  if (typeof config['model_type'] !== 'string' || config['model_type'] === '')
    throw new LayerloomError('CONFIG_INVALID', {
      file,
      reason: 'names no model_type; give the config.json of a model',
    });
  const { size, mtimeNs } = await stat(file, { bigint: true });
  const header = createHash('sha256').update(bytes).digest('hex');
  const index = {
    name: found.name,
    path: found.path,
    ...originOf(found),
    folder,
    files: [{ path: file, bytes: Number(size), mtimeNs: String(mtimeNs), header }],
    metadata: [{}],
    tensors: new Map(),
    config,
    sideFiles,
    ...(isFolder ? {} : { carried: new Map([[configName, text]]) }),
    warnings: [],
  };
  return { given, file, index, texts, beside: isFolder ? await weightsIn(found) : undefined };
};

const weightsIn = (found: FoundModel): Promise<CheckpointIndex | undefined> =>
  openFound(found, known).then(withoutWrappers, (error: unknown) => {
    if (error instanceof LayerloomError) return undefined;
    throw error;
  });

/**
 * Returns a checkpoint with the given configuration, if it has none. Keeps a tokenizer beside the weights,
 * because training may have added tokens.
 */
export const withConfig = (checkpoint: CheckpointIndex, { index, texts }: GivenConfig): CheckpointIndex => {
  if (checkpoint.config !== undefined) return checkpoint;
  const { config, folder, sideFiles, carried } = index;
  if (!checkpoint.sideFiles.some(isTokenizerFile))
    return {
      ...checkpoint,
      config,
      configGiven: 'withFiles',
      folder,
      sideFiles,
      ...(carried === undefined ? {} : { carried }),
    };
  const own = new Set([...checkpoint.sideFiles]);
  const added = new Map([...texts].filter(([name]) => !own.has(name)));
  return {
    ...checkpoint,
    config,
    configGiven: 'alone',
    sideFiles: [...own, ...added.keys()].sort(),
    carried: new Map([...(checkpoint.carried ?? []), ...added]),
  };
};

const biases = ['q', 'k', 'v'].map((one) => `self_attn.${one}_proj.bias`);
const outputBias = 'self_attn.o_proj.bias';
const headNorms = ['q', 'k'].map((one) => `self_attn.${one}_norm.weight`);
const innerNorms = ['pre', 'post'].map((one) => `${one}_feedforward_layernorm.weight`);

interface Traits {
  /** Biases and norms that all layers have by default. */
  readonly parts: readonly string[];
  /** The default of `head_dim`, if other than `hidden_size` / heads. */
  readonly headDim?: number;
  /** The key that adds or removes biases. */
  readonly biasKey?: 'attention_bias' | 'qkv_bias';
}

const byKey = { biasKey: 'attention_bias' } as const;

const traits: Readonly<Record<string, Traits>> = {
  ...{ llama: { parts: [], ...byKey }, mistral: { parts: [] }, mixtral: { parts: [] } },
  gemma: { parts: [], headDim: 256, ...byKey },
  gemma2: { parts: innerNorms, headDim: 256, ...byKey },
  gemma3_text: { parts: [...headNorms, ...innerNorms], headDim: 256, ...byKey },
  ...{ qwen2: { parts: biases }, qwen2_moe: { parts: biases, biasKey: 'qkv_bias' } },
  ...{ qwen3: { parts: headNorms, headDim: 128, ...byKey }, qwen3_moe: { parts: headNorms, ...byKey } },
};

/** Returns the rows of `count` heads; undefined for unlisted families: latent attention has other sizes. */
const rowsOfHeads = (text: Config, count: number, type: string): number | undefined => {
  const { head_dim: given, hidden_size: hidden, num_attention_heads: heads } = text;
  const known = ownValue(traits, type);
  if (known === undefined) return undefined;
  if (typeof given === 'number') return count * given;
  if (known.headDim !== undefined) return count * known.headDim;
  return typeof hidden === 'number' && typeof heads === 'number' ? (count * hidden) / heads : undefined;
};

/** Sizes in a configuration, each with the tensors that must have it as a dimension. */
const sizes: readonly {
  readonly keys: readonly string[];
  readonly of: RegExp;
  readonly role: Role;
  readonly dimension: number;
  readonly sizeOf?: (config: Config, size: number, type: string) => number | undefined;
}[] = [
  {
    keys: ['vocab_size'],
    of: /(^|\.)(embed_tokens|embed_in|word_embeddings|wte|shared)\.weight$/,
    role: 'embedding',
    dimension: 0,
  },
  {
    keys: ['hidden_size', 'n_embd', 'd_model'],
    of: /(norm|(^|\.)ln_)\w*\.weight$/i,
    role: 'blockNorm',
    dimension: 0,
  },
  {
    keys: ['intermediate_size'],
    of: /(^|\.)mlp\.(gate_proj|up_proj)\.weight$/,
    role: 'feedForward',
    dimension: 0,
  },
  {
    keys: ['n_positions'],
    of: /(^|\.)wpe\.weight$/,
    role: 'embedding',
    dimension: 0,
  },
  {
    keys: ['num_attention_heads'],
    of: /(^|\.)self_attn\.o_proj\.weight$/,
    role: 'attention',
    dimension: 1,
    sizeOf: rowsOfHeads,
  },
  {
    keys: ['num_key_value_heads'],
    of: /(^|\.)self_attn\.k_proj\.weight$/,
    role: 'attention',
    dimension: 0,
    sizeOf: rowsOfHeads,
  },
];

/**
 * Refuses another model's configuration: other numbers of layers, or sizes that no tensor has.
 *
 * @throws CONFIG_INVALID
 */
export const checkFit = (checkpoint: CheckpointIndex, { file, index }: GivenConfig): void => {
  const { settings: text, type = '', hasTowers } = languageModelOf(index.config);
  const architecture = describeArchitecture(checkpoint);
  const refuse = (claim: string, found: string) => {
    throw new LayerloomError('CONFIG_INVALID', {
      file,
      reason: `says ${claim}, and ${checkpoint.path} has ${found}; give the config.json of its base`,
    });
  };
  if (hasTowers && ![...architecture.places.values()].some(({ role }) => role === 'tower'))
    refuse('that it has towers (vision_config, audio_config)', 'none');
  const layers = [text['num_hidden_layers'], text['n_layer'], text['num_layers']].find(
    (value) => typeof value === 'number',
  );
  if (layers !== undefined && architecture.stacks.length === 1 && architecture.layers !== layers)
    refuse(`${layers} layers`, `${architecture.layers}`);
  const other = otherFamily(architecture, text, type);
  if (other !== undefined) refuse(...other);
  for (const { keys, of, role, dimension, sizeOf = (_: Config, size: number) => size } of sizes) {
    const key = keys.find((one) => typeof text[one] === 'number');
    const size = key === undefined ? undefined : sizeOf(text, Number(text[key]), type);
    if (size === undefined) continue;
    const found = [...checkpoint.tensors].filter(
      ([name]) => of.test(name) && architecture.places.get(name)?.role === role,
    );
    const [first] = found;
    if (first !== undefined && !found.some(([, { shape }]) => shape[dimension] === size))
      refuse(`${key} ${String(text[String(key)])}`, `${first[0]} [${first[1].shape.join(', ')}]`);
  }
};

/**
 * Compares the layers' biases and norms with those of the configuration's `model_type`. Returns what the
 * configuration claims and what the weights have instead; undefined if they agree or the type is unknown.
 */
const otherFamily = (
  { places }: Architecture,
  text: Config,
  type: string,
): readonly [string, string] | undefined => {
  const known = ownValue(traits, type);
  const inLayers = [...places.values()].filter(({ layer }) => layer !== undefined);
  const modules = new Set(inLayers.map(({ module }) => module));
  if (known === undefined || !modules.has('self_attn.q_proj.weight')) return undefined;
  const { parts, biasKey } = known;
  const set = biasKey === undefined ? undefined : text[biasKey];
  const wanted = new Set(
    typeof set === 'boolean'
      ? [...parts.filter((one) => !biases.includes(one)), ...(set ? biases : [])]
      : parts,
  );
  // Loaders fill a missing bias of `o_proj` with zeros, as in models of Qwen 2 saved as Llama.
  const judged = [...biases, ...(set === true ? [] : [outputBias]), ...headNorms, ...innerNorms];
  const part = judged.find((one) => wanted.has(one) !== modules.has(one));
  if (part === undefined) return undefined;
  const isThere = modules.has(part);
  const isByKey = typeof set === 'boolean' && [...biases, outputBias].includes(part);
  const claim = isByKey ? `${biasKey} ${set}` : `model_type ${String(text['model_type'])}`;
  return [`${claim}, whose layers have ${isThere ? 'no ' : ''}${part}`, isThere ? 'it' : 'none'];
};

/** Versions of transformers pack experts differently, and keep different buffers. */
const isIncidental = (module: string): boolean => /experts\.|inv_freq|masked_bias|attn\.bias$/.test(module);

const modulesOf = (checkpoint: CheckpointIndex): ReadonlySet<string> =>
  new Set(
    [...describeArchitecture(checkpoint).places.values()].flatMap(({ layer, module }) =>
      layer === undefined || isIncidental(module) ? [] : [module],
    ),
  );

/**
 * Warns if layers have other tensors than the weights beside a configuration: loaders would drop some, or
 * initialise them at random. Skips quantised weights, which have other names.
 */
export const otherModules = (checkpoint: CheckpointIndex, { file, beside }: GivenConfig): string[] => {
  if (beside === undefined || beside.config?.['quantization_config'] !== undefined) return [];
  const [own, other] = [modulesOf(checkpoint), modulesOf(beside)];
  const first = [...own, ...other].find((module) => own.has(module) !== other.has(module));
  return first === undefined || other.size === 0
    ? []
    : [
        `layers of ${checkpoint.path} ${own.has(first) ? 'have' : 'lack'} ${first}, unlike the weights beside ${file}: is that the configuration of their base?`,
      ];
};
