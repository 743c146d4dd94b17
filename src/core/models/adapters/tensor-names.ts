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

const beside = keyedKinds
  .flatMap((kind) => kind.beside ?? [])
  .map((name) => ({ name, pattern: new RegExp(`^(?<module>.+)\\.${name}(\\..+)?$`) }));

/** A name that ends with a factor, behind which the adapter's name and what the factor has may stand. */
interface FactorName {
  readonly module: string;
  readonly embedding: boolean;
  readonly letter: string | undefined;
  readonly what: string | undefined;
}

const factorIn = (name: string): FactorName | undefined => {
  const steps = name.split('.');
  for (const behind of [0, 1, 2]) {
    const [, embedding, letter] = /^lora_(embedding_)?([AB])$/.exec(steps.at(-1 - behind) ?? '') ?? [];
    const module = steps.slice(0, -1 - behind).join('.');
    const last = steps.at(-1) ?? '';
    const what = behind > 0 && (last === 'weight' || last === 'bias') ? last : undefined;
    const isWhole = behind < 2 || what !== undefined;
    if (letter !== undefined && module !== '' && isWhole)
      return { module, embedding: embedding !== undefined, letter, what };
  }
  return undefined;
};

const savedMark = '.modules_to_save.';

/** The module that was saved whole, and the parameter of it, behind the adapter's name where that stands there. */
const savedIn = (name: string): { readonly module: string; readonly rest: string } | undefined => {
  const at = name.lastIndexOf(savedMark, name.length - savedMark.length - 1);
  if (at < 1) return undefined;
  const behind = name.slice(at + savedMark.length);
  const dot = behind.indexOf('.');
  const isNamed = dot > 0 && dot + 1 < behind.length;
  return { module: name.slice(0, at), rest: isNamed ? behind.slice(dot + 1) : behind };
};

/**
 * Parses a name in an adapter's file, as versions of PEFT spell it: with or without the adapter's own name
 * (`lora_A.default.weight`), `modules_to_save.default.` or plain.
 */
export const parseAdapterTensor = (name: string): AdapterTensorName => {
  const plain = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  const found = factorIn(plain);
  if (found !== undefined) {
    const { module, embedding, letter, what } = found;
    const isFactor = embedding ? what === undefined : what === 'weight';
    const kind =
      letter === 'B' && what === 'bias' ? 'bias' : isFactor ? (letter === 'A' ? 'a' : 'b') : undefined;
    if (kind !== undefined) return { kind, module, embedding };
  }
  for (const { name, pattern } of beside) {
    const of = pattern.exec(plain)?.groups?.['module'];
    if (of !== undefined) return { kind: 'beside', name, module: of };
  }
  if (plain.includes('.original_module.')) return { kind: 'unused' };
  const saved = savedIn(plain);
  const parameter =
    saved === undefined ? plain.replaceAll('.base_layer.', '.') : `${saved.module}.${saved.rest}`;
  return { kind: 'whole', parameter, module: parameter.slice(0, Math.max(0, parameter.lastIndexOf('.'))) };
};

/** Returns the names by which PEFT's files have a module's factors. */
export const factorNames = (module: string, embedding = false): { readonly a: string; readonly b: string } =>
  embedding
    ? { a: `${prefix}${module}.lora_embedding_A`, b: `${prefix}${module}.lora_embedding_B` }
    : { a: `${prefix}${module}.lora_A.weight`, b: `${prefix}${module}.lora_B.weight` };

/** Returns the name by which PEFT's files have a parameter saved whole (`modules_to_save`, biases). */
export const wholeName = (parameter: string): string => `${prefix}${parameter}`;
