import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import type { TensorReference } from '../../tensor/reference.js';
import { canonicalName, prefixOf } from '../architecture/canonical-names.js';
import { classesIn, isOfTask, stemOfClass } from '../architecture/classes.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/files/json.js';
import type { Adapter } from './adapter.js';

/** Class name suffixes in transformers, by PEFT's task type. */
const classOfTask: Readonly<Record<string, string>> = {
  SEQ_CLS: 'ForSequenceClassification',
  TOKEN_CLS: 'ForTokenClassification',
  QUESTION_ANS: 'ForQuestionAnswering',
};

/** Language-model heads, which classes of other tasks lack. */
const tokenHeads =
  /^(lm_head|cls|generator_lm_head|generator_predictions|vocab_\w+|output_projection|proj_out|decoder\.(weight|bias)$)/;

/**
 * True if a tensor in `modules_to_save` is a head for another task, which the base lacks.
 *
 * @throws ADAPTER_UNSUPPORTED
 */
export const isOfTaskHead = (
  { config, checkpoint }: Pick<Adapter, 'config' | 'checkpoint'>,
  name: string,
): boolean => {
  const plain = canonicalName(name);
  const isSaved = config.modulesToSave.some((module) => plain.startsWith(`${module}.`));
  if (isSaved && plain.startsWith('v_head.'))
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file: itemAt(checkpoint.files, 0).path,
      what: `tensor ${name}`,
      reason: 'is the head of a value model of TRL, for which transformers has no class',
      remedy: 'remove v_head from modules_to_save and from the file to merge the language model alone',
    });
  return isSaved && isOfTask(plain) && classEndOf(config.raw) !== undefined;
};

const classEndOf = (raw: Adapter['config']['raw']): string | undefined => {
  const named = isObject(raw['auto_mapping']) ? raw['auto_mapping']['base_model_class'] : undefined;
  const end = Object.values(classOfTask).find((one) => String(named).endsWith(one));
  return end ?? classOfTask[String(raw['task_type'])];
};

/**
 * Replaces the base's head by the adapter's task head, if any. Returns the `config.json` keys that then
 * change: the class and its number of labels.
 *
 * @param given the adapter, whose replacements have the base's names
 * @param tensors of the base, with the adapter's head; modified
 * @throws ADAPTER_UNSUPPORTED
 */
export const addTaskHead = (
  base: CheckpointIndex,
  given: Adapter,
  tensors: Map<string, TensorReference>,
): Record<string, unknown> => {
  const added = [...given.replaced].filter(([name]) => !base.tensors.has(name) && isOfTaskHead(given, name));
  const [first] = added;
  if (first === undefined) return {};
  const unsupported = (reason: string, remedy: string) =>
    new LayerloomError('ADAPTER_UNSUPPORTED', {
      file: itemAt(given.checkpoint.files, 0).path,
      what: `tensor ${first[1].name}`,
      reason,
      remedy,
    });
  const [name = ''] = classesIn(base.config);
  const named =
    namedClass(given.config.raw) ?? className(base.config, name, String(classEndOf(given.config.raw)));
  if (named === undefined)
    throw unsupported(
      `is a head that ${base.path} lacks, and its config.json names no class to put it on`,
      'save the base with the class that the adapter was trained as, and give that',
    );
  const [own, trained] = [
    wholeOf(base.tensors.keys()),
    wholeOf([...given.pairs.keys(), ...given.changes.keys()]),
  ];
  // transformers adds or removes only the class's prefix.
  if (own !== trained && own !== '' && trained !== '')
    throw unsupported(
      `is of ${named}, whose parameters are named ${trained}… and those of ${base.path} ${own}…`,
      'save the base with the class that the adapter was trained as, and give that',
    );
  for (const tensor of tensors.keys())
    if (tokenHeads.test(canonicalName(tensor)) && !given.replaced.has(tensor)) tensors.delete(tensor);
  const last = added.findLast(([tensor]) => /(score|classifier|out_proj|qa_outputs)\.weight$/.test(tensor));
  const labels = last?.[1].tensor.shape[0] ?? 2;
  const known = base.config?.['id2label'];
  const names = Array.from({ length: labels }, (_, label) => [String(label), `LABEL_${label}`] as const);
  const isKnown = isObject(known) ? Object.keys(known).length === labels : labels === 2;
  return {
    architectures: [named],
    ...(isKnown
      ? {}
      : {
          id2label: Object.fromEntries(names),
          label2id: Object.fromEntries(names.map(([label, text]) => [text, Number(label)])),
        }),
  };
};

const namedClass = (raw: Adapter['config']['raw']): string | undefined => {
  const named = isObject(raw['auto_mapping']) ? raw['auto_mapping']['base_model_class'] : undefined;
  return typeof named === 'string' && /^\w+For\w+$/.test(named) ? named : undefined;
};

/** Families whose text-only classes have a different name stem. */
const ofText: Readonly<Record<string, string>> = { gemma3_text: 'Gemma3Text', qwen3_5_text: 'Qwen3_5Text' };

const className = (config: CheckpointIndex['config'], like: string, end: string): string | undefined => {
  const family = ofText[String(config?.['model_type'])] ?? stemOfClass(like);
  return family === undefined ? undefined : `${family}${end}`;
};

const wholeOf = (names: Iterable<string>): string => {
  for (const name of names) {
    const plain = canonicalName(name);
    const prefix = /\.\d+\./.test(plain) ? prefixOf(name, plain) : undefined;
    if (prefix !== undefined) return prefix;
  }
  return '';
};
