import type { z } from 'zod';
import type { Place } from '../../../models/architecture/architecture.js';
import type { Origin } from '../../../models/architecture/layer-settings/stacked.js';
import type { ExpertLayout } from '../../../models/experts/layouts.js';
import type { TransplantRequest } from '../../../models/tokenizer/vocabulary.js';
import type { Dtype } from '../../../tensor/dtype.js';
import type { Shape } from '../../../tensor/reference.js';
import type { Rows } from '../../../tensor/rows.js';
import type { Expression } from '../../operations/expression.js';
import type { Formula } from '../../operations/formula.js';
import type { ModelInput } from './recipe-input.js';

/** A model as a recipe refers to it. */
export interface ModelReference {
  readonly role: string;
  readonly model: ModelInput;
  /** Place in the recipe, for errors; default: the role. */
  readonly path?: RecipePath;
  /** True if the method takes and checks only some tensors; then the model may be given several times. */
  readonly inPart?: boolean;
}

/** Keys and indexes that lead to a value in a recipe. */
export type RecipePath = readonly (string | number)[];

/** Statistics of whole models that a method needs before compiling. */
export interface NeededStatistics {
  readonly base: ModelInput;
  readonly experts: readonly ModelInput[];
  /**
   * `rows`: the task vectors' MAVs, for every row if `eachRow`, otherwise means. `thresholds`: for each task
   * vector, the magnitude that a share (`densities`) of its elements reaches, and the majority sign of these
   * elements.
   */
  readonly what:
    | { readonly kind: 'rows'; readonly rows: Rows; readonly eachRow: boolean }
    | { readonly kind: 'thresholds'; readonly densities: readonly number[] };
}

/** Statistics of a model's task vector by rows (`analyze`). */
export interface TaskVectorStatistics {
  readonly name: string;
  readonly base: { readonly name: string };
  readonly rows: Rows;
  readonly tensors: Readonly<
    Record<
      string,
      {
        readonly rows: number;
        readonly parametersPerRow: number;
        readonly meanMav: number;
        readonly nonFiniteRows: number;
      }
    >
  >;
  /** The MAV of each row, by tensor; NaN for a row with NaN or infinity. */
  readonly vectors: ReadonlyMap<string, Float32Array>;
}

/** The statistics that `NeededStatistics` requests, in the order of its experts. */
export interface Statistics {
  readonly taskVectors: readonly TaskVectorStatistics[];
  /** Thresholds of magnitude, for `thresholds`. */
  readonly thresholds: readonly number[];
  /** The sign of most elements of the sum of the changes that reach the thresholds. */
  readonly majoritySign: MajoritySign;
}

/** The sign is 0 for a tie. */
export type MajoritySign = -1 | 0 | 1;

export const noStatistics: Statistics = { taskVectors: [], thresholds: [], majoritySign: 0 };

/** A model's tensor names and configuration, without weights. */
export interface ModelView {
  readonly name: string;
  /** The recipe that makes the model; absent for a checkpoint. */
  readonly recipe?: Readonly<Record<string, unknown>>;
  readonly layers: number;
  readonly places: ReadonlyMap<string, Place>;
  readonly tensors: ReadonlyMap<string, { readonly dtype: Dtype; readonly shape: Shape }>;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

/** The merged models and their statistics. */
export interface CompileContext extends Statistics {
  readonly layers: number;
  readonly models: readonly ModelView[];
}

/** An output tensor, for outputs whose tensors differ from the first model's. */
export interface OutputTensor {
  readonly name: string;
  /** The tensor that determines dtype and shape. */
  readonly like: ModelTensorPlace;
  /** Default: the shape of `like`. */
  readonly shape?: Shape;
  readonly place: Place;
}

export interface ModelTensorPlace {
  readonly model: number;
  readonly tensor: string;
}

/** A method with resolved parameters, which maps a tensor's place to an expression without I/O. */
export interface Compiled {
  /** Parameters as used, with keys as in YAML, for `layerloom.json` and the card. */
  readonly resolved: Readonly<Record<string, unknown>>;
  /** Parameters that reproduce the merge if some are computed, such as weights; default: the recipe's. */
  readonly again?: Readonly<Record<string, unknown>>;
  /** @throws INVALID_PARAMETER if the tensor has no expression */
  expressionOf(place: Place, tensor: string): Expression;
  /** Parameters as used for one tensor, for `--explain`. */
  parametersOf?(place: Place, tensor: string): Readonly<Record<string, unknown>>;
  /** The output's tensors, if other than the first model's. */
  readonly outputs?: readonly OutputTensor[];
  /** For rearranged layers: the layer that each output layer resembles, and the layers combined with it. */
  readonly layersLike?: readonly Origin[];
  /** True if multi-token prediction is left out because the number of other layers changed. */
  readonly leavesDraftsOut?: boolean;
  /** Changes to the first model's `config.json`. */
  readonly configEdits?: Readonly<Record<string, unknown>>;
  /** For a mixture of experts made from dense models: its `model_type` and experts' layout. */
  readonly mixture?: { readonly family: string; readonly form: ExpertLayout };
  /** Warnings about results that users probably do not want. */
  readonly warnings?: readonly string[];
  /** Filters that matched no tensor; complete after `expressionOf` has been called for all tensors. */
  unused?(): readonly { readonly what: string; readonly path: RecipePath }[];
}

/** The models that a method takes. */
export interface Takes {
  /** `required`: every recipe needs a base. `optional`: a recipe may name one. `none`: no such parameter. */
  readonly base: 'required' | 'optional' | 'none';
  /** Parameters for other models: `task` and `language` (`pair`), `models` (`list`) or `model` (`one`). */
  readonly models: 'pair' | 'list' | 'one';
  /** True if the merge starts from `base`, as in slerp, and the base is not a common ancestor. */
  readonly startsFromBase?: boolean;
}

/** A plan, as its method's report sees it. */
export interface ReportedPlan {
  readonly recipe: Readonly<Record<string, unknown>>;
  readonly inputs: readonly { readonly name: string; readonly role: string }[];
  readonly shards: readonly {
    readonly tensors: readonly {
      readonly name: string;
      readonly shape: Shape;
      readonly expression: Formula<unknown>;
      /** Indexes of all inputs that the formula or a nested one reads. */
      readonly madeOf: readonly number[];
    }[];
  }[];
}

/** Rows and parameters of an output, and how many of them are the expert's. */
export interface Kept {
  /** Rows along the dimension that the recipe's `rows` selects; tensors other than matrices have one row. */
  readonly rows: number;
  readonly rowsKept: number;
  readonly parameters: number;
  readonly parametersKept: number;
}

/** Figures for results and `layerloom.json`. */
export interface MethodReport {
  readonly kept?: { readonly all: Kept; readonly tensors: Readonly<Record<string, Kept>> };
  /** Embedding rows after a change of tokenizer; `padding` rows belong to no token. */
  readonly transplanted?: {
    readonly rows: number;
    readonly copied: number;
    readonly made: number;
    readonly zero: number;
    readonly padding: number;
  };
}

/** A publication or program behind a method, for BibTeX. */
export interface Citation {
  readonly key: string;
  readonly title: string;
  /** Authors in order, family names first. */
  readonly authors: readonly string[];
  readonly year: number;
  /** An arXiv number such as `2306.01708`, or a URL. */
  readonly source: { readonly arxiv: string } | { readonly url: string };
}

/** A merge method. Each has a file in src/core/methods/ and an entry in src/core/methods/index.ts. */
export interface Method<Parameters> {
  /** Name in snake_case. */
  readonly name: string;
  readonly title: string;
  /** Parses parameters and fills in defaults; `shape` has a key per parameter. */
  readonly schema: z.ZodType<Parameters> & { readonly shape: object };
  readonly tags: readonly string[];
  /** Citations for the model card; they may depend on the parameters. */
  readonly citations?: readonly Citation[] | ((parameters: Parameters) => readonly Citation[]);
  readonly takes: Takes;
  /** The models in the order of terms. The first gives names, dtypes, side files and configuration. */
  models(parameters: Parameters): readonly ModelReference[];
  /** Models that are checked but not merged, such as a base. */
  companions(parameters: Parameters): readonly ModelReference[];
  readonly keepsCard: boolean;
  /** True if layers must be numbered 0 to L−1. */
  readonly needsLayers: boolean | ((parameters: Parameters) => boolean);
  /** True if the models may have different numbers of layers. */
  stacksLayers?(parameters: Parameters): boolean;
  /** True if the output cannot be another recipe's input. */
  readonly standsAlone?: boolean;
  /** The parameter that names each model's file. Experiments refuse such methods. */
  readonly filesOfModels?: string;
  /** Required parameters, as alternative sets; default: from the schema. */
  readonly required?: readonly (readonly string[])[];
  /** True if these unchecked parameters need a base that `takes` calls `optional`. */
  needsBase?(parameters: Readonly<Record<string, unknown>>): boolean;
  /** Names of parameters without effect beside these unchecked values; experiments do not record them. */
  idle?(parameters: Readonly<Record<string, unknown>>): readonly string[];
  /** Settings with which the first model gets the second's tokenizer. */
  transplant?(parameters: Parameters): TransplantRequest;
  /** Statistics that the method needs; undefined if headers suffice. */
  statistics?(parameters: Parameters): NeededStatistics | undefined;
  /** @throws LayerloomError if the parameters do not suit the models */
  compile(parameters: Parameters, context: CompileContext): Compiled;
  /** Lines about derived values, printed before the merge. */
  notes?(plan: ReportedPlan): readonly string[];
  /** Figures for results and `layerloom.json`. */
  report?(plan: ReportedPlan): MethodReport;
}
