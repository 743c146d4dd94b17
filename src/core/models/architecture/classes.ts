import type { CheckpointIndex } from '../checkpoint/checkpoint.js';

const ends = /^(?<stem>\w+?)(?:For[A-Z]\w*|(?:With)?LMHeadModel|MTModel|Model)$/;

/** Returns the classes of transformers that a configuration names. */
export const classesIn = (config: CheckpointIndex['config']): readonly string[] => {
  const classes = config?.['architectures'];
  return Array.isArray(classes) ? classes.filter((name) => typeof name === 'string') : [];
};

/** Returns what classes on one base have in common: `Llama` of `LlamaForCausalLM`; undefined for other names. */
export const stemOfClass = (name: string): string | undefined => ends.exec(name)?.groups?.['stem'];

/** True for a class with a head that gives tokens, by its name. */
export const givesTokens = (name: string): boolean =>
  /(ForCausalLM|LMHeadModel|ForConditionalGeneration|ForMaskedLM|ForPreTraining|MTModel)$/.test(name);

/** True for a tensor of a head that gives something else than tokens, by its canonical name: a reward, labels, spans. */
export const isOfTask = (plain: string): boolean =>
  /^(score|classifier|qa_outputs|classification_head|v_head)\./.test(plain);
