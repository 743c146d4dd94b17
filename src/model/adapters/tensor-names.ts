import { keyedKinds } from './kinds/kinds.js';

/** PEFT's prefix of names in an adapter's file. Adapters that transformers writes by itself may lack it. */
const prefix = 'base_model.model.';

/** A tensor of an adapter's file, by its name. */
export type AdapterTensorName =
  | {
      readonly kind: 'a' | 'b' | 'bias';
      /** The module without the prefix: `model.layers.0.self_attn.q_proj`. */
      readonly module: string;
      /** The module is an embedding (`lora_embedding_A`), which is stored as [in, out]. */
      readonly embedding: boolean;
    }
  /** Stands beside the factors of a module, for adapters of a kind. */
  | { readonly kind: 'beside'; readonly name: string; readonly module: string }
  /** Takes the place of a parameter of the base: `modules_to_save`, biases, an embedding saved whole. */
  | { readonly kind: 'whole'; readonly parameter: string; readonly module: string }
  /** The base's own weights beside a module that was trained; not used. */
  | { readonly kind: 'unused' };

const factor =
  /^(?<module>.+)\.lora_(?<embedding>embedding_)?(?<letter>[AB])(?:\.(?!weight$|bias$)[^.]+)?(?:\.(?<what>weight|bias))?$/;
const beside = keyedKinds
  .flatMap((kind) => kind.beside ?? [])
  .map((name) => ({ name, pattern: new RegExp(`^(?<module>.+)\\.${name}(\\..+)?$`) }));
const saved = /^(?<module>.+)\.modules_to_save(?:\.(?!weight$|bias$)[^.]+)?\.(?<rest>.+)$/;

/**
 * Parses a name in an adapter's file, as versions of PEFT spell it: with or without the adapter's own name
 * (`lora_A.default.weight`), `modules_to_save.default.` or plain.
 */
export const parseAdapterTensor = (name: string): AdapterTensorName => {
  const plain = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  const { module, embedding, letter, what } = factor.exec(plain)?.groups ?? {};
  if (module !== undefined && letter !== undefined) {
    const isFactor = embedding === undefined ? what === 'weight' : what === undefined;
    const kind =
      letter === 'B' && what === 'bias' ? 'bias' : isFactor ? (letter === 'A' ? 'a' : 'b') : undefined;
    if (kind !== undefined) return { kind, module, embedding: embedding !== undefined };
  }
  for (const { name, pattern } of beside) {
    const of = pattern.exec(plain)?.groups?.['module'];
    if (of !== undefined) return { kind: 'beside', name, module: of };
  }
  if (plain.includes('.original_module.')) return { kind: 'unused' };
  const { module: savedModule, rest } = saved.exec(plain)?.groups ?? {};
  const parameter =
    savedModule === undefined ? plain.replaceAll('.base_layer.', '.') : `${savedModule}.${rest}`;
  return { kind: 'whole', parameter, module: parameter.slice(0, Math.max(0, parameter.lastIndexOf('.'))) };
};

/** Returns the names by which PEFT's files have a module's factors. */
export const factorNames = (module: string, embedding = false): { readonly a: string; readonly b: string } =>
  embedding
    ? { a: `${prefix}${module}.lora_embedding_A`, b: `${prefix}${module}.lora_embedding_B` }
    : { a: `${prefix}${module}.lora_A.weight`, b: `${prefix}${module}.lora_B.weight` };

/** Returns the name by which PEFT's files have a parameter saved whole (`modules_to_save`, biases). */
export const wholeName = (parameter: string): string => `${prefix}${parameter}`;
