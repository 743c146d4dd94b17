import { moduleOf } from './choose-tensors.js';

/** Families with Mamba layers, for whose `out_proj` PEFT (0.21) refuses factors. */
const ofMamba = new Set<unknown>(['falcon_h1', 'mamba', 'mamba2', 'falcon_mamba', 'nemotron_h']);

const routers = /(^|\.)(gate|router)(\.\w+)?\.weight$/;

/** T5's embeddings of relative positions, which lie within attention. */
const embeddings = /(^|\.)relative_attention_bias\.weight$/;

/**
 * Returns a predicate for matrices to which PEFT (0.21) gives factors when it loads an adapter. Routers are
 * not linear in transformers 5. PEFT mistakes a matrix for an expert's if experts have its last name, such as
 * `gate_proj`.
 */
export const adaptableIn = (
  tensors: Iterable<string>,
  config: Readonly<Record<string, unknown>> | undefined,
): ((tensor: string) => boolean) => {
  const ofExperts = new Set<string>();
  for (const tensor of tensors) if (isOfExpert(tensor)) ofExperts.add(lastPart(tensor));
  const isMamba = ofMamba.has(config?.['model_type']);
  return (tensor) =>
    !routers.test(tensor) &&
    !embeddings.test(tensor) &&
    !(isMamba && lastPart(tensor) === 'out_proj') &&
    (isOfExpert(tensor) || !ofExperts.has(lastPart(tensor)));
};

const isOfExpert = (tensor: string): boolean => /\.experts\.\d+\./.test(tensor);

const lastPart = (tensor: string): string => {
  const module = moduleOf(tensor);
  return module.slice(module.lastIndexOf('.') + 1);
};
