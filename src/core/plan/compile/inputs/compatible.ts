import { LayerloomError } from '../../../base/errors/errors.js';
import type { Architecture } from '../../../models/architecture/architecture.js';
import { canonicalName } from '../../../models/architecture/canonical-names.js';
import { classesIn, isOfTask, stemOfClass } from '../../../models/architecture/classes.js';
import { languageModelOf, towerKinds } from '../../../models/architecture/families.js';
import { saysByLayer } from '../../../models/architecture/layer-settings/keys.js';
import type { Role } from '../../../models/architecture/role.js';
import { isTokenHead } from '../../../models/architecture/roles.js';
import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';
import { configDifferences } from '../../../models/checkpoint/config/config.js';
import { isObject } from '../../../models/checkpoint/files/json.js';
import { sideFileContent, sideFileObject } from '../../../models/checkpoint/side-file-content.js';
import { unreadForm, unreadSettings } from '../../../models/quantisation/dequantised.js';
import { readChatTemplate } from '../../../models/tokenizer/chat-templates/read.js';
import { TokenizerReader } from '../../../models/tokenizer/files/read-tokenizer.js';
import { tokenDifferences } from '../../../models/tokenizer/files/tokenizer.js';
import { isFloating } from '../../../tensor/dtype.js';
import { quantisedTensors } from '../quantised.js';
import type { Edits } from '../vocabularies/tokenizer-source.js';

/** A checkpoint and the architecture that its tensor names imply. */
export interface Model {
  readonly checkpoint: CheckpointIndex;
  readonly architecture: Architecture;
  /** Returns changes to `generation_config.json`. */
  readonly generationEdits?: (config: Edits) => Edits;
}

/** A difference in words; `kept` names the model whose value the output keeps. */
export interface Difference {
  readonly words: string;
  readonly kept?: string;
  /** The recipe key that chooses the value; if set, no warning is needed. */
  readonly decidedBy?: 'chatTemplate';
}

export const warningOf = ({ words, kept }: Difference): string =>
  kept === undefined ? words : `${words}; that of ${kept} is kept`;

export interface Fit {
  readonly differences: readonly Difference[];
  /** Uninformative tensors that one model lacks: constant tables, the head of tied embeddings. */
  readonly redundant: readonly string[];
  /** The first model's head or towers, if the other is of another class on the same base. */
  readonly own: readonly string[];
}

export interface Tolerated {
  /** Allows different numbers of layers. */
  readonly stacks?: boolean;
  readonly tokensAreDecided?: boolean;
}

/**
 * Checks that `first` and `other` can share a base: names, family, layers, tying, tensors, shapes,
 * configuration, token ids. A difference between whole models is reported before the differences of tensors
 * that follow from it.
 *
 * @throws NAMING_MISMATCH, LAYER_COUNT_MISMATCH, TIED_MISMATCH, TENSOR_NAMES_DIFFER, SHAPE_MISMATCH,
 * DTYPE_MISMATCH, CONFIG_MISMATCH, TOKENIZER_MISMATCH, READ_FAILED, QUANTISED_WEIGHTS
 */
export const checkCompatible = async (
  first: Model,
  other: Model,
  { stacks = false, tokensAreDecided = false }: Tolerated = {},
  tokenizers = new TokenizerReader(),
): Promise<Fit> => {
  checkArchitecture(first, other, stacks);
  // For stacked layers, bind.ts compares each combination of tensors.
  const names = stacks ? { redundant: [], own: [], foreign: [] } : checkNames(first, other);
  if (!stacks) checkTensors(first.checkpoint, other.checkpoint, new Set(names.own));
  const differences = checkConfig(first, other, stacks);
  if (!tokensAreDecided) await checkTokens(first.checkpoint, other.checkpoint, tokenizers);
  return {
    differences: [
      ...differences,
      ...partDifferences(first, other, names),
      ...(await sideFileDifferences(first, other)),
    ],
    redundant: names.redundant,
    own: names.own,
  };
};

/**
 * Checks everything but vocabularies.
 *
 * @throws NAMING_MISMATCH, CONFIG_MISMATCH for another family, LAYER_COUNT_MISMATCH, TIED_MISMATCH,
 * TENSOR_NAMES_DIFFER, QUANTISED_WEIGHTS
 */
export const checkStructure = (first: Model, other: Model, stacks: boolean): void => {
  checkArchitecture(first, other, stacks);
  if (!stacks) checkNames(first, other);
};

const pathsOf = (first: CheckpointIndex, other: CheckpointIndex) => ({
  first: first.path,
  other: other.path,
});

const checkArchitecture = (first: Model, other: Model, stacks: boolean): void => {
  const pair = pathsOf(first.checkpoint, other.checkpoint);
  const [a, b] = [first.architecture, other.architecture];
  const spelt = { huggingface: 'Hugging Face', meta: 'Meta' };
  if (a.naming !== b.naming)
    throw new LayerloomError('NAMING_MISMATCH', {
      ...pair,
      firstNaming: spelt[a.naming],
      otherNaming: spelt[b.naming],
    });
  // Compares families first, because a different family explains other differences.
  if (familyOf(first) !== familyOf(other)) checkConfig(first, other, stacks);
  if (a.layers !== b.layers && !stacks)
    throw new LayerloomError('LAYER_COUNT_MISMATCH', {
      ...pair,
      firstLayers: a.layers,
      otherLayers: b.layers,
    });
  if (a.tied !== undefined && b.tied !== undefined && a.tied !== b.tied) {
    const [tied, untied] = a.tied ? [pair.first, pair.other] : [pair.other, pair.first];
    throw new LayerloomError('TIED_MISMATCH', { tied, untied });
  }
};

const familyOf = ({ checkpoint }: Model): unknown => checkpoint.config?.['model_type'];

interface NameDifferences extends Pick<Fit, 'redundant' | 'own'> {
  /** The other model's head or towers, which the output lacks. */
  readonly foreign: readonly string[];
}

const checkNames = (first: Model, other: Model): NameDifferences => {
  const tied = [first.architecture.tied, other.architecture.tied];
  const headIsRedundant = tied.includes(true) && !tied.includes(false);
  const isOtherClass = classesDiffer(first, other);
  const hasOtherTowers = towersDiffer(first, other);
  const isOfClass = (name: string, role: Role | undefined) =>
    (isOtherClass && (role === 'head' || isOfTask(canonicalName(name)))) ||
    (hasOtherTowers && role === 'tower');
  const onlyIn = (one: Model, another: Model) => {
    const found = { redundant: [] as string[], own: [] as string[], missing: [] as string[] };
    for (const name of [...one.checkpoint.tensors.keys()].sort()) {
      const role = one.architecture.places.get(name)?.role;
      if (another.checkpoint.tensors.has(name)) {
        // Heads of different tasks, and different towers, have only their names in common.
        const isApart = isOtherClass && isOfTask(canonicalName(name));
        if (isApart || (hasOtherTowers && role === 'tower')) found.own.push(name);
        continue;
      }
      const isRedundant =
        role === 'buffer' ||
        one.checkpoint.copies?.has(name) === true ||
        (isTokenHead(name, role) && headIsRedundant);
      if (isRedundant) found.redundant.push(name);
      else found[isOfClass(name, role) ? 'own' : 'missing'].push(name);
    }
    return found;
  };
  const [inFirst, inOther] = [onlyIn(first, other), onlyIn(other, first)];
  refuseUnread(first, inFirst.missing);
  refuseUnread(other, inOther.missing);
  if (inFirst.missing.length + inOther.missing.length > 0)
    throw new LayerloomError('TENSOR_NAMES_DIFFER', {
      ...pathsOf(first.checkpoint, other.checkpoint),
      missing: inFirst.missing,
      unexpected: inOther.missing,
    });
  return {
    redundant: [...inFirst.redundant, ...inOther.redundant],
    own: inFirst.own,
    foreign: inOther.own,
  };
};

/** True for two classes on one base, such as a language model and a classifier. */
const classesDiffer = (first: Model, other: Model): boolean => {
  const [[a], [b]] = [classesIn(first.checkpoint.config), classesIn(other.checkpoint.config)];
  if (a === undefined || b === undefined || a === b || familyOf(first) !== familyOf(other)) return false;
  return stemOfClass(a) !== undefined && stemOfClass(a) === stemOfClass(b);
};

/** True for language models of one family, if one model has no towers, or towers of another kind. */
const towersDiffer = (first: Model, other: Model): boolean => {
  const [a, b] = [languageModelOf(first.checkpoint.config), languageModelOf(other.checkpoint.config)];
  if (a.type === undefined || a.type !== b.type) return false;
  if (a.hasTowers !== b.hasTowers) return true;
  return (
    a.hasTowers &&
    (familyOf(first) !== familyOf(other) || towerKinds.some((key) => differIn(key, first, other)))
  );
};

const differIn = (key: string, first: Model, other: Model): boolean => {
  const [a, b] = [first, other].map(({ checkpoint }) => checkpoint.config?.[key]);
  return isObject(a) && isObject(b) ? configDifferences(a, b).errors.length > 0 : isObject(a) !== isObject(b);
};

const partDifferences = (first: Model, other: Model, { own, foreign }: NameDifferences): Difference[] => {
  const [a, b] = [first.checkpoint.name, other.checkpoint.name];
  const say = ({ architecture }: Model, names: readonly string[], words: (names: string) => Difference) =>
    (['towers', 'head'] as const).flatMap((part) => {
      const [one, ...more] = names.filter(
        (name) => (architecture.places.get(name)?.role === 'tower') === (part === 'towers'),
      );
      return one === undefined ? [] : [words(`${one}${more.length === 0 ? '' : ', …'}, of the ${part} of`)];
    });
  const isTower = (of: Model) => (name: string) => of.architecture.places.get(name)?.role === 'tower';
  if (own.some(isTower(first)) && foreign.some(isTower(other)))
    return [{ words: `${a} and ${b} have other towers`, kept: a }];
  return [
    ...say(first, own, (what) => ({ words: `${b} has no ${what} ${a}`, kept: a })),
    ...say(other, foreign, (what) => ({
      words: `${a} has no ${what} ${b}, which the output does not get`,
    })),
  ];
};

/** Refuses a model whose missing weights may be in an unsupported quantisation. */
const refuseUnread = ({ checkpoint }: Model, names: readonly string[]): void => {
  const quantised = quantisedTensors(checkpoint);
  const tensor = names.find((name) => quantised.has(name));
  if (tensor !== undefined) throw new LayerloomError('QUANTISED_WEIGHTS', { model: checkpoint.path, tensor });
};

const checkTensors = (first: CheckpointIndex, other: CheckpointIndex, own: ReadonlySet<string>): void => {
  const pair = pathsOf(first, other);
  const shapes: string[] = [];
  const dtypes: string[] = [];
  for (const [name, a] of first.tensors) {
    const b = other.tensors.get(name);
    if (b === undefined || own.has(name)) continue;
    if (a.shape.join() !== b.shape.join())
      shapes.push(`${name} [${b.shape.join(', ')}] against [${a.shape.join(', ')}]`);
    if (a.dtype !== b.dtype && !(isFloating(a.dtype) && isFloating(b.dtype)))
      dtypes.push(`${name} ${b.dtype} against ${a.dtype}`);
  }
  if (shapes.length > 0) throw new LayerloomError('SHAPE_MISMATCH', { ...pair, tensors: shapes.sort() });
  if (dtypes.length > 0) throw new LayerloomError('DTYPE_MISMATCH', { ...pair, tensors: dtypes.sort() });
};

const checkConfig = (
  { checkpoint: first, ...a }: Model,
  { checkpoint: other, ...b }: Model,
  stacks: boolean,
): Difference[] => {
  if (first.config === undefined || other.config === undefined) return [];
  const isOtherClass = !stacks && classesDiffer({ checkpoint: first, ...a }, { checkpoint: other, ...b });
  const hasOtherTowers = towersDiffer({ checkpoint: first, ...a }, { checkpoint: other, ...b });
  const ignored = stacks ? saysByLayer : new Set(isOtherClass ? ['architectures'] : []);
  const text = languageModelOf(first.config).settings;
  const otherText = languageModelOf(other.config).settings;
  // Versions of transformers write multimodal models' text settings in `text_config` or at the top level.
  const isNestedOnce = (text === first.config) !== (otherText === other.config);
  const compared = [
    ...(hasOtherTowers ? [] : [configDifferences(first.config, other.config, ignored)]),
    ...(hasOtherTowers || isNestedOnce
      ? [configDifferences(text, otherText, new Set([...ignored, 'architectures', 'model_type']))]
      : []),
  ];
  const [errors, warnings] = [
    compared.flatMap((found) => found.errors),
    compared.flatMap((found) => found.warnings),
  ];
  if (errors.length > 0)
    throw new LayerloomError('CONFIG_MISMATCH', { ...pathsOf(first, other), differences: errors });
  checkUnread(first, other);
  const classes = `architectures ${classesIn(first.config).join()} against ${classesIn(other.config).join()}`;
  return [...(isOtherClass || hasOtherTowers ? [classes] : []), ...warnings].map((difference) => ({
    words: `config.json of ${first.name} and ${other.name}: ${difference}`,
    kept: first.name,
  }));
};

/**
 * Refuses different settings for tensors that are copied unread: the output has only one model's settings. Also
 * refuses random rotations, which differ between models of equal settings.
 */
const checkUnread = (first: CheckpointIndex, other: CheckpointIndex): void => {
  const [a, b] = [first, other].map((one) => {
    const settings = unreadSettings(one);
    return settings === undefined || quantisedTensors(one).size === 0 ? 'none' : unreadForm(settings);
  });
  const areRandom = first.path !== other.path && /"random\b|"randomize":true/.test(a ?? '');
  if (a !== b || areRandom)
    throw new LayerloomError('CONFIG_MISMATCH', {
      ...pathsOf(first, other),
      differences: [`quantization_config ${a} against ${areRandom ? 'another random rotation' : b}`],
    });
};

const checkTokens = async (
  first: CheckpointIndex,
  other: CheckpointIndex,
  tokenizers: TokenizerReader,
): Promise<void> => {
  const both = [first, other].filter(({ sideFiles }) => sideFiles.includes('tokenizer.json'));
  const [a, b] = await Promise.all(both.map((checkpoint) => sideFileContent(checkpoint, 'tokenizer.json')));
  if (a !== undefined && b?.equals(a)) return;
  if (!(await tokenizers.hasTokens(first)) || !(await tokenizers.hasTokens(other))) return;
  const tokens = tokenDifferences(await tokenizers.idsOf(first), await tokenizers.idsOf(other));
  if (tokens.length > 0) throw new LayerloomError('TOKENIZER_MISMATCH', { ...pathsOf(first, other), tokens });
};

const sideFileDifferences = async (one: Model, two: Model): Promise<Difference[]> => {
  const [first, other] = [one.checkpoint, two.checkpoint];
  const say = (what: string): Difference => ({
    words: `${first.name} and ${other.name} differ in ${what}`,
    kept: first.name,
  });
  const without = ['config.json', 'tokenizer.json'].filter(
    (name) => first.sideFiles.includes(name) && !other.sideFiles.includes(name),
  );
  const [template, another] = [await readChatTemplate(first), await readChatTemplate(other)];
  const keys = generationDifferences(await generationConfig(one), await generationConfig(two));
  return [
    ...without.map((name) => ({
      words: `${other.name} has no ${name}, which could not be compared with that of ${first.name}`,
    })),
    ...(template !== undefined && another !== undefined && template !== another
      ? [{ ...say('chat template'), decidedBy: 'chatTemplate' as const }]
      : []),
    ...(keys.length > 0 ? [say(`generation config (${keys.join(', ')})`)] : []),
  ];
};

const generationDifferences = (a: Edits, b: Edits): string[] => {
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  if (keys.length === 0 || others.length === 0) return [];
  return [...new Set([...keys, ...others])].filter(
    (key) => JSON.stringify(a[key]) !== JSON.stringify(b[key]),
  );
};

const generationConfig = async ({ checkpoint, generationEdits }: Model): Promise<Edits> => {
  const file = (await sideFileObject(checkpoint, 'generation_config.json')) ?? {};
  const { transformers_version: _version, ...rest } = { ...file, ...generationEdits?.(file) };
  return rest;
};
