import { keyedKinds } from './kinds/kinds.js';
import type { Tuner } from './kinds/tuner.js';

/** PEFT's name prefix. Adapters saved by transformers itself may lack it. */
const prefix = 'base_model.model.';

export type AdapterTensorName =
  | {
      readonly kind: 'a' | 'b' | 'bias';
      /** The module without the prefix: `model.layers.0.self_attn.q_proj`. */
      readonly module: string;
      /** True for an embedding (`lora_embedding_A`), stored as [in, out]. */
      readonly embedding: boolean;
    }
  | { readonly kind: 'beside'; readonly name: string; readonly module: string }
  | { readonly kind: 'part'; readonly part: string; readonly module: string; readonly tuner: Tuner }
  /** Replaces a base parameter: `modules_to_save`, a bias, or an embedding saved whole. */
  | { readonly kind: 'whole'; readonly parameter: string; readonly module: string }
  /** A copy of the base's own weights; not used. */
  | { readonly kind: 'unused' };

const beside = keyedKinds
  .flatMap((kind) => kind.beside ?? [])
  .map((name) => ({ name, pattern: new RegExp(`^(?<module>.+)\\.${name}(\\..+)?$`) }));

/** A name ending in a factor, optionally followed by the adapter's name and `weight` or `bias`. */
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

const partIn = (
  whole: string,
  plain: string,
  { parts, shared = [] }: Tuner,
): { readonly part: string; readonly module: string } | undefined => {
  const ofAll = shared.find((part) => whole === part || /^\.[^.]+$/.test(after(whole, part)));
  if (ofAll !== undefined) return { part: ofAll, module: '' };
  const steps = plain.split('.');
  for (const behind of [0, 1, 2]) {
    const at = steps.length - 1 - behind;
    const [own = '', module] = [steps[at], steps.slice(0, at).join('.')];
    const last = behind === 0 ? '' : String(steps.at(-1));
    const part = parts.find((one) => one === own || (behind > 0 && one === `${own}.${last}`));
    const isWhole = behind < 2 || last === 'weight' || part?.includes('.');
    if (part !== undefined && module && isWhole)
      return { part, module: module.replace(/\.token_adapter$/, '') };
  }
  return undefined;
};

const after = (text: string, start: string): string =>
  text.startsWith(start) ? text.slice(start.length) : '';

const savedMark = '.modules_to_save.';

/** Splits the name of a tensor in `modules_to_save` into module and parameter, without the adapter's name. */
const savedIn = (name: string): { readonly module: string; readonly rest: string } | undefined => {
  const at = name.lastIndexOf(savedMark, name.length - savedMark.length - 1);
  if (at < 1) return undefined;
  const behind = name.slice(at + savedMark.length);
  const dot = behind.indexOf('.');
  const isNamed = dot > 0 && dot + 1 < behind.length;
  return { module: name.slice(0, at), rest: isNamed ? behind.slice(dot + 1) : behind };
};

/**
 * Parses a tensor name in any spelling of PEFT: with the adapter's name (`lora_A.default.weight`,
 * `modules_to_save.default.`) or without.
 */
export const parseAdapterTensor = (name: string, tuners: readonly Tuner[] = []): AdapterTensorName => {
  const plain = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  for (const tuner of tuners) {
    const of = partIn(name.replace(/^base_model\.(?!model\.)/, ''), plain, tuner);
    if (of !== undefined) return { kind: 'part', tuner, ...of };
  }
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

export const factorNames = (module: string, embedding = false): { readonly a: string; readonly b: string } =>
  embedding
    ? { a: `${prefix}${module}.lora_embedding_A`, b: `${prefix}${module}.lora_embedding_B` }
    : { a: `${prefix}${module}.lora_A.weight`, b: `${prefix}${module}.lora_B.weight` };

export const wholeName = (parameter: string): string => `${prefix}${parameter}`;
