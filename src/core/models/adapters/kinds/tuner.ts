import type * as z from 'zod';
import type { Shape, TensorChange, TensorReference } from '../../../tensor/reference.js';

/** Maximum elements of a tensor that a tuner computes with. As float64, they take eight bytes each. */
export const mostSmall = 2 ** 26;

export interface NamedTensor {
  readonly name: string;
  readonly tensor: TensorReference;
}

export interface TunedParameter {
  readonly shape: Shape;
  readonly transposed: boolean;
  /** Maps a reference to its place in the combined list of files. */
  readonly place: (tensor: TensorReference) => TensorReference;
  /** Throws ADAPTER_MISMATCH. @param reason the message's end, after the parameter's name */
  readonly mismatch: (reason: string) => never;
  readonly unsupported: (reason: string) => never;
}

export interface ParameterChange {
  readonly parameter: string;
  /** The tensor that error messages name. */
  readonly from: NamedTensor;
  /** The base may lack the parameter. */
  readonly optional?: true;
  /** Set if a tied head changes with the embeddings, as in PEFT. Two changes with equal texts are equal. */
  readonly tied?: string;
  change(of: TunedParameter): TensorChange;
}

export interface TunedModule {
  readonly module: string;
  readonly rank: number;
  readonly alpha: number;
  find(part: string): NamedTensor | undefined;
  /** Throws ADAPTER_INVALID if the part is absent. */
  need(part: string): NamedTensor;
  /** Like `need`, for a tensor that all modules share. */
  shared(part: string): NamedTensor;
  invalid(of: NamedTensor, reason: string): never;
}

export interface Tuned {
  readonly changes?: readonly ParameterChange[];
  readonly replaced?: ReadonlyMap<string, NamedTensor>;
}

/** A kind of adapter, selected by `peft_type`. */
export interface Tuner<Keys extends z.ZodRawShape = z.ZodRawShape> {
  readonly type: string;
  readonly title: string;
  /** Why changes of this kind cannot be summed as an adapter. */
  readonly noSum: string;
  /** Names of a module's tensors; the adapter's name and `weight` may follow. */
  readonly parts: readonly string[];
  readonly shared?: readonly string[];
  readonly mayBeEmpty?: true;
  /** Set if parts may have more than `mostSmall` elements. */
  readonly mayBeLarge?: true;
  /** Keys of `adapter_config.json` that affect the result. */
  readonly keys: Keys;
  /** Keys of rank and alpha, if modules have them. */
  readonly numbers?: { readonly rank: string; readonly alpha: string };
  /** Keys that do not affect a trained adapter's result. */
  readonly ignored: readonly string[];
  /** Returns why a configuration is not supported. */
  refusal?(keys: z.output<z.ZodObject<Keys>>): { readonly what: string; readonly reason: string } | undefined;
  read(module: TunedModule, keys: z.output<z.ZodObject<Keys>>): Tuned;
}

/** An identity function, from which TypeScript infers `Keys`. */
export const tuner = <Keys extends z.ZodRawShape>(of: Tuner<Keys>): Tuner => of as unknown as Tuner;
