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
  /** How the recipe uses it: `task`, `language`, `base`, `model`. */
  readonly role: string;
  readonly model: ModelInput;
  /** Path in the recipe, for errors. Default: the role. */
  readonly path?: RecipePath;
  /**
   * True if the method takes only some of its tensors: only these need to fit, which the method checks, and
   * the model may be named several times.
   */
  readonly inPart?: boolean;
}

/** Keys and indexes that lead to a value of a recipe. */
export type RecipePath = readonly (string | number)[];

/** Statistics of whole models, needed before compiling. */
export interface NeededStatistics {
  readonly base: ModelInput;
  readonly experts: readonly ModelInput[];
  /**
   * `rows`: changes by rows of task vectors; the MAV of each row if `eachRow`, else means. `thresholds`: for
   * each task vector, the magnitude that a given share of its elements reaches, and the sign that prevails
   * among these.
   */
  readonly what:
    | { readonly kind: 'rows'; readonly rows: Rows; readonly eachRow: boolean }
    | { readonly kind: 'thresholds'; readonly densities: readonly number[] };
}

/** The task vector of a model, row by row (`analyze`). */
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
  /** MAV of each row; NaN for a row with a NaN or an infinity. */
  readonly vectors: ReadonlyMap<string, Float32Array>;
}

/** Statistics for `NeededStatistics`, in order. */
export interface Statistics {
  readonly taskVectors: readonly TaskVectorStatistics[];
  /** Magnitudes, for `thresholds`. */
  readonly thresholds: readonly number[];
  /**
   * For `thresholds`: at each element, changes that reach their threshold are summed; this is the sign of the
   * sum of these sums' signs.
   */
  readonly majoritySign: MajoritySign;
}

/** The prevailing sign in a whole model; 0 for a tie. */
export type MajoritySign = -1 | 0 | 1;

export const noStatistics: Statistics = { taskVectors: [], thresholds: [], majoritySign: 0 };

/** A merged model without weights. */
export interface ModelView {
  readonly name: string;
  /** The recipe that makes it, if any. */
  readonly recipe?: Readonly<Record<string, unknown>>;
  /** L. */
  readonly layers: number;
  readonly places: ReadonlyMap<string, Place>;
  readonly tensors: ReadonlyMap<string, { readonly dtype: Dtype; readonly shape: Shape }>;
  /** `config.json`. */
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

/** The merged models and their statistics, as a method compiles against them. */
export interface CompileContext extends Statistics {
  /** Number of layers of the first model. */
  readonly layers: number;
  /** The merged models, in the order of `models`. */
  readonly models: readonly ModelView[];
}

/** An output tensor that replaces or joins the first model's. */
export interface OutputTensor {
  readonly name: string;
  /** The model's tensor that gives shape and dtype. */
  readonly like: ModelTensorPlace;
  /** Default: the shape of `like`. */
  readonly shape?: Shape;
  readonly place: Place;
}

export interface ModelTensorPlace {
  readonly model: number;
  readonly tensor: string;
}

/**
 * A method with resolved parameters: maps a tensor's place to its expression, without I/O. Deterministic,
 * except that filters remember matches for `unused`.
 */
export interface Compiled {
  /** The parameters used, in YAML's spelling, for `layerloom.json` and the card. */
  readonly resolved: Readonly<Record<string, unknown>>;
  /**
   * Parameters in camel case, without models, that reproduce the merge bit for bit. Needed if some are
   * derived, such as magnitude weights. Default: those of the recipe.
   */
  readonly again?: Readonly<Record<string, unknown>>;
  /** @throws LayerloomError INVALID_PARAMETER if the parameters give the tensor no expression */
  expressionOf(place: Place, tensor: string): Expression;
  /** The parameters used for the tensor, for `--explain`. */
  parametersOf?(place: Place, tensor: string): Readonly<Record<string, unknown>>;
  /** The tensors of the output, if they differ from those of the first model. */
  readonly outputs?: readonly OutputTensor[];
  /**
   * If layers are added, removed or repeated: for each output layer, the layer it resembles and those
   * combined with it.
   */
  readonly layersLike?: readonly Origin[];
  /** True if layers of multi-token prediction are left out, because the number of layers before them changed. */
  readonly leavesDraftsOut?: boolean;
  /** The keys of `config.json` that differ from the first model's. */
  readonly configEdits?: Readonly<Record<string, unknown>>;
  /** For a mixture of experts from dense models: its `model_type`, and the form of its experts. */
  readonly mixture?: { readonly family: string; readonly form: ExpertLayout };
  /** Warnings of results that the user hardly wants. */
  readonly warnings?: readonly string[];
  /** Filters that matched no tensor. Call after `expressionOf`. */
  unused?(): readonly { readonly what: string; readonly path: RecipePath }[];
}

/** The models that a method takes. */
export interface Takes {
  /**
   * `required`: every recipe needs a base. `optional`: a recipe may name one. `none`: `base` is no parameter.
   */
  readonly base: 'required' | 'optional' | 'none';
  /** Parameters of the other models: `task` and `language` (`pair`), `models` (`list`) or `model` (`one`). */
  readonly models: 'pair' | 'list' | 'one';
  /**
   * True if the merge starts from `base`, as in slerp, so that it is no common ancestor. Experiments then
   * merge from the task expert towards the language expert.
   */
  readonly startsFromBase?: boolean;
}

/** A plan, as its method reports on it. */
export interface ReportedPlan {
  readonly recipe: Readonly<Record<string, unknown>>;
  readonly inputs: readonly { readonly name: string; readonly role: string }[];
  readonly shards: readonly {
    readonly tensors: readonly {
      readonly name: string;
      readonly shape: Shape;
      readonly expression: Formula<unknown>;
      /** Indexes of inputs, at any depth. */
      readonly madeOf: readonly number[];
    }[];
  }[];
}

/** Rows and parameters of the output, and how many of them come from the expert. */
export interface Kept {
  /**
   * Number of rows of a matrix, along the dimension that the recipe's `rows` chooses; any other tensor counts
   * as one row.
   */
  readonly rows: number;
  readonly rowsKept: number;
  readonly parameters: number;
  readonly parametersKept: number;
}

/** Figures that a method adds to the result of a merge and to `layerloom.json`. */
export interface MethodReport {
  /** For all tensors, and for each. */
  readonly kept?: { readonly all: Kept; readonly tensors: Readonly<Record<string, Kept>> };
  /** Embedding rows after a change of tokenizer; `padding` rows have no token. */
  readonly transplanted?: {
    readonly rows: number;
    readonly copied: number;
    readonly made: number;
    readonly zero: number;
    readonly padding: number;
  };
}

/** A source of a method, for BibTeX. */
export interface Citation {
  readonly key: string;
  readonly title: string;
  /** Family name first, in order. */
  readonly authors: readonly string[];
  readonly year: number;
  /** An arXiv number, `2306.01708`, or a URL. */
  readonly source: { readonly arxiv: string } | { readonly url: string };
}

/** A merge method, in its own file under src/core/methods/ and registered in src/core/methods/index.ts. */
export interface Method<Parameters> {
  /** In snake_case, as recipes spell it. */
  readonly name: string;
  readonly title: string;
  /** Defaults and checks of the parameters; `shape` names them. */
  readonly schema: z.ZodType<Parameters> & { readonly shape: object };
  readonly tags: readonly string[];
  /** The papers or the program that the method comes from, for the model card. */
  readonly citations?: readonly Citation[] | ((parameters: Parameters) => readonly Citation[]);
  readonly takes: Takes;
  /** The models in the order of terms. The first gives names, dtypes, side files and configuration. */
  models(parameters: Parameters): readonly ModelReference[];
  /** Models that no expression uses but that must fit. */
  companions(parameters: Parameters): readonly ModelReference[];
  /** True if the output keeps the first model's card. */
  readonly keepsCard: boolean;
  /** True if tensors must have layer numbers 0 … L−1. */
  readonly needsLayers: boolean | ((parameters: Parameters) => boolean);
  /** True if the models' numbers of layers may differ. */
  stacksLayers?(parameters: Parameters): boolean;
  /** True if the output cannot be an input: recipes of this method cannot be nested. */
  readonly standsAlone?: boolean;
  /** The parameter that lists a file for each model. Experiments do not run such methods. */
  readonly filesOfModels?: string;
  /** Alternative lists of required parameters. Default: from the schema. */
  readonly required?: readonly (readonly string[])[];
  /** True if these unchecked parameters need a base that is otherwise optional. */
  needsBase?(parameters: Readonly<Record<string, unknown>>): boolean;
  /** Parameters without effect beside the given unchecked ones. Experiments do not record them. */
  idle?(parameters: Readonly<Record<string, unknown>>): readonly string[];
  /** How the first model gets the second's tokenizer; absent for one vocabulary. */
  transplant?(parameters: Parameters): TransplantRequest;
  /** Statistics for `compile`; undefined if headers suffice. */
  statistics?(parameters: Parameters): NeededStatistics | undefined;
  /** @throws LayerloomError if the parameters do not fit the models */
  compile(parameters: Parameters, context: CompileContext): Compiled;
  /** Lines about values derived from the models, printed before the merge. */
  notes?(plan: ReportedPlan): readonly string[];
  /** Returns figures for the result of the merge and for `layerloom.json`. */
  report?(plan: ReportedPlan): MethodReport;
}
