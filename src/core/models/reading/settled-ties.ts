import { LayerloomError } from '../../base/errors/errors.js';
import { valueAt } from '../../base/errors/lookup.js';
import { lostHead } from '../architecture/canonical-names.js';
import { classesIn, givesTokens } from '../architecture/classes.js';
import {
  absentCopies,
  hasOtherRows,
  headOf,
  isAlwaysTied,
  isKnownFamily,
  saysTied,
  type Tie,
  tiesIn,
} from '../architecture/ties.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import type { MissingBytes } from '../checkpoint/descriptions.js';
import { configName } from '../checkpoint/files/file-names.js';
import { isObject } from '../checkpoint/files/json.js';
import { type Sameness, sameValues } from '../checkpoint/same/same-values.js';
import { sideFilePath } from '../checkpoint/side-file-content.js';

/**
 * Decides, like transformers 5, whether a checkpoint's head is its embeddings. If both are stored with
 * different values, they are separate, whatever `config.json` says. Reads values up to the first difference,
 * and none if `config.json` says untied.
 *
 * @throws CONFIG_INVALID if head and embeddings have different shapes; READ_FAILED
 */
export const settledTies = async (
  given: CheckpointIndex,
  missingBytes: MissingBytes,
): Promise<CheckpointIndex> => {
  const checkpoint = withWarning(given, lostHeadOf(given));
  const { config, path, warnings } = checkpoint;
  const says = saysTied(config);
  if (config === undefined) return checkpoint;
  const ties = tiesIn(checkpoint);
  if (says !== undefined && !hasOtherRows(config)) for (const tie of ties) checkShapes(checkpoint, tie, says);
  if (says === false) return withWarning(checkpoint, lackingOf(checkpoint));
  const copies = new Set<string>();
  let head: Tie | undefined;
  let isKnown = true;
  for (const tie of ties) {
    const sameness = await samenessOf(checkpoint, tie, missingBytes);
    if (sameness === 'same') copies.add(tie.copy);
    else if (tie.copy === headOf(checkpoint)) {
      head = tie;
      isKnown = sameness !== 'unknown';
    }
  }
  if (head === undefined) return copies.size === 0 ? checkpoint : { ...checkpoint, tied: true, copies };
  const own: CheckpointIndex = { ...checkpoint, tied: false, ...(copies.size === 0 ? {} : { copies }) };
  if (says !== true) return own;
  const edits = untied(config);
  return {
    ...(isAlwaysTied(config) ? own : withCopies(own)),
    config: { ...config, ...edits },
    configEdits: { ...checkpoint.configEdits, ...edits },
    warnings: [
      ...warnings,
      isKnown
        ? `${path}: ${head.copy} is a head of its own, since it differs from ${head.source}, though ${configName} ties them (tie_word_embeddings); transformers 5 loads it so`
        : `${path}: whether ${head.copy} differs from ${head.source} is not known, since they are not both on this machine or are cut into different pieces; it is kept as a head of its own, which is right either way`,
    ],
  };
};

/** Adds the copies that loaders would make, because the configuration will say untied. */
const withCopies = (checkpoint: CheckpointIndex): CheckpointIndex => {
  const { tensors, stored = tensors } = checkpoint;
  const absent = absentCopies(checkpoint).map(
    ({ copy, source }) => [copy, valueAt(tensors, source)] as const,
  );
  return absent.length === 0
    ? checkpoint
    : { ...checkpoint, tensors: new Map([...tensors, ...absent]), stored };
};

const withWarning = (checkpoint: CheckpointIndex, warning: string | undefined): CheckpointIndex =>
  warning === undefined ? checkpoint : { ...checkpoint, warnings: [...checkpoint.warnings, warning] };

const samenessOf = (
  checkpoint: CheckpointIndex,
  { copy, source }: Tie,
  missingBytes: MissingBytes,
): Promise<Sameness> => {
  const { tensors } = checkpoint;
  return sameValues(checkpoint, valueAt(tensors, copy), valueAt(tensors, source), missingBytes);
};

/** Refuses a head with another number of rows than the embeddings, as transformers does, unless quantised. */
const checkShapes = (checkpoint: CheckpointIndex, { copy, source }: Tie, says: boolean): void => {
  const { config, tensors } = checkpoint;
  const [a, b] = [valueAt(tensors, copy), valueAt(tensors, source)].map(
    ({ shape }) => `[${shape.join(', ')}]`,
  );
  if (a !== b && config?.['quantization_config'] === undefined && config?.['auto_map'] === undefined)
    throw new LayerloomError('CONFIG_INVALID', {
      file: sideFilePath(checkpoint, configName),
      reason: `is of a model whose ${copy} ${a} and ${source} ${b} have ${says ? 'one shape, since they are tied' : 'as many rows'}, and these have not, so that transformers does not load it; write the model again`,
    });
};

const untied = (config: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const text = config['text_config'];
  const inText = isObject(text) && text['tie_word_embeddings'] === true;
  return {
    tie_word_embeddings: false,
    ...(inText ? { text_config: { ...text, tie_word_embeddings: false } } : {}),
  };
};

/** Warns of a head that loaders do not find, whatever the configuration says of ties. */
const lostHeadOf = ({ config, tensors, path }: CheckpointIndex): string | undefined => {
  const lost = config === undefined || !isKnownFamily(config) ? undefined : lostHead(tensors.keys());
  return lost === undefined
    ? undefined
    : `${path}: transformers finds a head as embed_out.weight alone, and does not load ${lost}; rename it if it is the head`;
};

/** Warns of tensors that loaders would initialise at random: a missing untied head, and missing copies. */
const lackingOf = (checkpoint: CheckpointIndex): string | undefined => {
  const { config, tensors, path } = checkpoint;
  const [name] = classesIn(config);
  if (name === undefined || !givesTokens(name) || !isKnownFamily(config)) return undefined;
  const head = headOf(checkpoint);
  const module = head.slice(0, head.lastIndexOf('.'));
  // A quantised head has other tensors in its module.
  const hasHead = [...tensors.keys()].some((tensor) => tensor.startsWith(`${module}.`));
  const lacking = [...(hasHead ? [] : [head]), ...absentCopies(checkpoint).map(({ copy }) => copy)];
  if (lacking.length === 0) return undefined;
  return `${path} has no ${lacking.join(', ')} for its class ${name}, and ties nothing (tie_word_embeddings): loaders take random numbers`;
};
