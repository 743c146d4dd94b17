import type { CheckpointIndex } from '../checkpoint/checkpoint.js';

const ends = /^(?<stem>\w+?)(?:For[A-Z]\w*|(?:With)?LMHeadModel|MTModel|Model)$/;

export const classesIn = (config: CheckpointIndex['config']): readonly string[] => {
  const classes = config?.['architectures'];
  return Array.isArray(classes) ? classes.filter((name) => typeof name === 'string') : [];
};

export const stemOfClass = (name: string): string | undefined => ends.exec(name)?.groups?.['stem'];

/** True if a class name implies a token head. */
export const givesTokens = (name: string): boolean =>
  /(ForCausalLM|LMHeadModel|ForConditionalGeneration|ForMaskedLM|ForPreTraining|MTModel)$/.test(name);

/** True for a tensor of a task head (reward, labels, spans). Takes canonical names. */
export const isOfTask = (plain: string): boolean =>
  /^(score|classifier|qa_outputs|classification_head|v_head)\./.test(plain);
