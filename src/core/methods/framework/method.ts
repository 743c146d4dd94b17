import type { z } from 'zod';
import type { Place } from '../../models/architecture/architecture.js';
import type { Origin } from '../../models/architecture/layer-settings/stacked.js';
import type { ExpertForm } from '../../models/experts/forms.js';
import type { TransplantRequest } from '../../models/tokenizer/vocabulary.js';
import type { Dtype } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';
import type { Rows } from '../../tensor/rows.js';
import type { Expression } from '../operations/expression.js';
import type { Formula } from '../operations/formula.js';
import type { ModelInput } from './recipe-input.js';

/** A model that a recipe names. */
export interface ModelReference {
  /** How the recipe uses it: `task`, `language`, `base`, `model`. */
  readonly role: string;
  readonly model: ModelInput;
  /** Path in the recipe, for errors: `['models', 1]`. Default: the role. */
  readonly path?: RecipePath;
  /**
   * True if the method takes only some of its tensors. Only these need to fit the first model, which the
   * method checks; the model may be named several times.
   */
  readonly inPart?: boolean;
}

/** Keys and indexes that lead to a value of a recipe. */
export type RecipePath = readonly (string | number)[];

/** Statistics of whole models that a method needs before compiling. */
export interface NeededStatistics {
  readonly base: ModelInput;
  readonly experts: readonly ModelInput[];
  /**
   * `rows`: task vectors by rows, with each row's MAV if `eachRow`, else only means. `thresholds`: the
   * magnitude that a share of a task vector's elements reaches, and the sign that then prevails.
   */
  readonly what:
    | { readonly kind: 'rows'; readonly rows: Rows; readonly eachRow: boolean }
    | { readonly kind: 'thresholds'; readonly densities: readonly number[] };
}

/** A warning that a base may not be the one an expert was fine-tuned from. */
export interface BaseConcern {
  readonly words: string;
  /** Another expert that the warning concerns. */
  readonly among?: string;
}

/** The task vector of a model, row by row (`analyze`). */
export interface TaskVectorStatistics {
  readonly name: string;
  /** The base it was computed from. */
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
  /** Absent if the weights were not checked for it. */
  readonly concerns?: readonly BaseConcern[];
}

/** Returns the warnings that concern these task vectors. */
export const concernsAmong = (vectors: readonly TaskVectorStatistics[]): string[] =>
  vectors.flatMap(({ concerns = [] }) =>
    concerns
      .filter(({ among }) => among === undefined || vectors.some(({ name }) => name === among))
      .map(({ words }) => words),
  );

/** Statistics of the experts in `NeededStatistics`, in order. */
export interface Statistics {
  readonly taskVectors: readonly TaskVectorStatistics[];
  /** Magnitudes, for `thresholds`. */
  readonly thresholds: readonly number[];
  /**
   * For `thresholds`: add the changes that reach the threshold at each element; this is the sign of the sum
   * of those signs.
   */
  readonly majoritySign: MajoritySign;
}

/** The sign that prevails in a whole model; 0 for a tie. */
export type MajoritySign = -1 | 0 | 1;

export const noStatistics: Statistics = { taskVectors: [], thresholds: [], majoritySign: 0 };

/** A merged model as a method sees it: names and places, no weights. */
export interface ModelView {
  readonly name: string;
  /** The recipe that makes it, if there is one. */
  readonly recipe?: Readonly<Record<string, unknown>>;
  /** Number of layers (L). */
  readonly layers: number;
  readonly places: ReadonlyMap<string, Place>;
  readonly tensors: ReadonlyMap<string, { readonly dtype: Dtype; readonly shape: Shape }>;
  /** The content of `config.json`. */
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

/** The merged models and their statistics, for compiling. */
export interface CompileContext extends Statistics {
  /** L of the first model. */
  readonly layers: number;
  readonly models: readonly ModelView[];
}

/** An output tensor that differs from the first model's. */
export interface OutputTensor {
  readonly name: string;
  /** The input tensor that gives shape and dtype. */
  readonly like: ModelTensorPlace;
  /** Overrides that tensor's shape. */
  readonly shape?: Shape;
  readonly place: Place;
}

export interface ModelTensorPlace {
  readonly model: number;
  readonly tensor: string;
}

/**
 * A method with its parameters resolved: maps a tensor's place to its expression, without I/O. Equal calls in
 * equal order give equal results; filters remember which tensors they matched, for `unused`.
 */
export interface Compiled {
  /** The parameters used, in YAML's spelling, for `layerloom.json` and the model card. */
  readonly resolved: Readonly<Record<string, unknown>>;
  /**
   * Camel-case parameters, without models, that reproduce this merge to the bit. Default: the recipe's. For
   * methods that derive parameters from the models, such as magnitude weights.
   */
  readonly again?: Readonly<Record<string, unknown>>;
  /** @throws LayerloomError INVALID_PARAMETER if the parameters give no expression for the tensor */
  expressionOf(place: Place, tensor: string): Expression;
  /** The parameters used for the tensor, for `--explain`. */
  parametersOf?(place: Place, tensor: string): Readonly<Record<string, unknown>>;
  /** The output's tensors, if they are not the first model's. */
  readonly outputs?: readonly OutputTensor[];
  /**
   * If layers are added, removed or repeated: for each output layer, the model layer it resembles and the
   * layers combined with it.
   */
  readonly layersLike?: readonly Origin[];
  /** True if layers of multi-token prediction are left out because the number of layers changed. */
  readonly leavesDraftsOut?: boolean;
  /** Keys of `config.json` that differ from the first model's. */
  readonly configEdits?: Readonly<Record<string, unknown>>;
  /**
   * If the output is a mixture of experts and the first model is not: its `model_type`, and the form of its
   * experts.
   */
  readonly mixture?: { readonly family: string; readonly form: ExpertForm };
  /** Warnings about probably unintended effects of the parameters. */
  readonly warnings?: readonly string[];
  /** Filters that matched no tensor. Call after all calls of `expressionOf`. */
  unused?(): readonly { readonly what: string; readonly path: RecipePath }[];
}

/** The models that a method takes. */
export interface Takes {
  /**
   * `required`: every recipe needs a base. `optional`: a recipe may name one. `none`: `base` is no parameter.
   */
  readonly base: 'required' | 'optional' | 'none';
  /**
   * The parameters that name the other models: `task` and `language` (`pair`), `models` (`list`) or `model`
   * (`one`).
   */
  readonly models: 'pair' | 'list' | 'one';
  /**
   * True if `base` is the starting point of the merge, as in slerp, and not an ancestor of both models.
   * Experiments then merge from the task expert towards the language expert.
   */
  readonly startsFromBase?: boolean;
}

/** A plan, as `notes` and `report` see it. */
export interface ReportedPlan {
  readonly recipe: Readonly<Record<string, unknown>>;
  readonly inputs: readonly { readonly name: string; readonly role: string }[];
  readonly shards: readonly {
    readonly tensors: readonly {
      readonly name: string;
      readonly shape: Shape;
      readonly expression: Formula<unknown>;
      /** Indexes of all inputs it is computed from. */
      readonly madeOf: readonly number[];
    }[];
  }[];
}

/** Rows and parameters of the output, and how many stay the expert's. */
export interface Kept {
  /** Rows of matrices in the recipe's sense; any other tensor counts as one row. */
  readonly rows: number;
  readonly rowsKept: number;
  readonly parameters: number;
  readonly parametersKept: number;
}

/** Figures on a plan that its method adds to the merge's result and to `layerloom.json`. */
export interface MethodReport {
  /** Rows and parameters that stay the expert's, in all and for each tensor. */
  readonly kept?: { readonly all: Kept; readonly tensors: Readonly<Record<string, Kept>> };
  /**
   * Embedding rows after a change of tokenizer: copied, made from others, zero, and padding without a token.
   */
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
  /** The entry's key: `yadav2023ties`. */
  readonly key: string;
  readonly title: string;
  /** Family name first, in order. */
  readonly authors: readonly string[];
  readonly year: number;
  /** An arXiv number, `2306.01708`, or a URL for other sources. */
  readonly source: { readonly arxiv: string } | { readonly url: string };
}

/** A merge method. Each has a file under src/core/methods/ and is registered in src/core/methods/index.ts. */
export interface Method<Parameters> {
  /** In snake_case, as recipes spell it. */
  readonly name: string;
  readonly title: string;
  /** Checks the parameters and fills in defaults; `shape` names them. */
  readonly schema: z.ZodType<Parameters> & { readonly shape: object };
  readonly tags: readonly string[];
  /** The papers or the program that the method comes from, for the model card. */
  readonly citations?: readonly Citation[] | ((parameters: Parameters) => readonly Citation[]);
  readonly takes: Takes;
  /**
   * The models to merge, in the order of terms. The first gives the output its tensors' names and dtypes, its
   * side files and its configuration.
   */
  models(parameters: Parameters): readonly ModelReference[];
  /** Models that no expression uses but that must fit the others. */
  companions(parameters: Parameters): readonly ModelReference[];
  /** True if the output keeps the first model's card. */
  readonly keepsCard: boolean;
  /** True if tensors must have layer numbers 0 … L−1. */
  readonly needsLayers: boolean | ((parameters: Parameters) => boolean);
  /** True if the models' numbers of layers may differ. */
  stacksLayers?(parameters: Parameters): boolean;
  /** True if the output cannot be the input of another merge: a recipe of this method cannot be nested. */
  readonly standsAlone?: boolean;
  /**
   * The parameter that lists a file for each model. Experiments do not run such methods, since their models
   * vary.
   */
  readonly filesOfModels?: string;
  /** Alternative lists of required parameters. Default: those without which the schema fails. */
  readonly required?: readonly (readonly string[])[];
  /** True if these parameters, not yet checked, need a base that is otherwise optional. */
  needsBase?(parameters: Readonly<Record<string, unknown>>): boolean;
  /**
   * Parameters that have no effect beside the given ones, which are not yet checked. Experiments do not
   * record them.
   */
  idle?(parameters: Readonly<Record<string, unknown>>): readonly string[];
  /** How the first model gets the second model's tokenizer; absent if a merge has one vocabulary. */
  transplant?(parameters: Parameters): TransplantRequest;
  /** Statistics that `compile` needs; undefined if headers are enough. */
  statistics?(parameters: Parameters): NeededStatistics | undefined;
  /** @throws LayerloomError if the parameters do not fit the models */
  compile(parameters: Parameters, context: CompileContext): Compiled;
  /**
   * Lines about values that a plan derived from the models, such as magnitude weights; printed before the
   * merge.
   */
  notes?(plan: ReportedPlan): readonly string[];
  /** Figures on a finished plan. */
  report?(plan: ReportedPlan): MethodReport;
}
