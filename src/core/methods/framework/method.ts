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

/** A model as a recipe refers to it. */
export interface ModelReference {
  /** The recipe's use of it: `task`, `language`, `base`, `model`. */
  readonly role: string;
  readonly model: ModelInput;
  /** Its path in the recipe, for errors: `['models', 1]`. Default: the role. */
  readonly path?: RecipePath;
  /**
   * True for a model of which the method takes some tensors alone: it need not fit the first one but in these, which the
   * method compares, and may be named several times.
   */
  readonly inPart?: boolean;
}

/** Keys and indexes that lead from a recipe to one of its values. */
export type RecipePath = readonly (string | number)[];

/** Statistics of whole models that a method needs before it compiles. */
export interface NeededStatistics {
  readonly base: ModelInput;
  readonly experts: readonly ModelInput[];
  /**
   * Task vectors by rows, with the MAV of each row where `eachRow` is true and else only means; or the
   * magnitude that a share of all elements of a task vector reaches, and the sign that then prevails.
   */
  readonly what:
    | { readonly kind: 'rows'; readonly rows: Rows; readonly eachRow: boolean }
    | { readonly kind: 'thresholds'; readonly densities: readonly number[] };
}

/** A warning that a base may not be the one that an expert was fine-tuned from. */
export interface BaseConcern {
  readonly words: string;
  /** Another expert that it is about. */
  readonly among?: string;
}

/** The task vector of a model, row by row (`analyze`). */
export interface TaskVectorStatistics {
  readonly name: string;
  /** The base that it was taken from. */
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
  /** Absent where the weights were not looked at for it. */
  readonly concerns?: readonly BaseConcern[];
}

/** The warnings of some task vectors. */
export const concernsAmong = (vectors: readonly TaskVectorStatistics[]): string[] =>
  vectors.flatMap(({ concerns = [] }) =>
    concerns
      .filter(({ among }) => among === undefined || vectors.some(({ name }) => name === among))
      .map(({ words }) => words),
  );

/** Statistics of the experts that `NeededStatistics` names, in their order. */
export interface Statistics {
  readonly taskVectors: readonly TaskVectorStatistics[];
  /** Magnitudes, for `thresholds`. */
  readonly thresholds: readonly number[];
  /**
   * For `thresholds`: the sign of the sum of signs, over all elements, of the sum of changes that reach them.
   */
  readonly majoritySign: MajoritySign;
}

/** The sign that prevails in a whole model; 0 where there is none. */
export type MajoritySign = -1 | 0 | 1;

export const noStatistics: Statistics = { taskVectors: [], thresholds: [], majoritySign: 0 };

/** A merged model as a method sees it: names and places, no weights. */
export interface ModelView {
  readonly name: string;
  /** The recipe that makes it, where one does. */
  readonly recipe?: Readonly<Record<string, unknown>>;
  /** L. */
  readonly layers: number;
  readonly places: ReadonlyMap<string, Place>;
  readonly tensors: ReadonlyMap<string, { readonly dtype: Dtype; readonly shape: Shape }>;
  /** Its `config.json`. */
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

/** The merged models and their statistics, as a method compiles against them. */
export interface CompileContext extends Statistics {
  /** L of the first model. */
  readonly layers: number;
  /** The merged models, in the order of `models`. */
  readonly models: readonly ModelView[];
}

/** A tensor of an output that is not made like the first model. */
export interface OutputTensor {
  readonly name: string;
  /** The model's tensor whose shape and dtype it has. */
  readonly like: ModelTensorPlace;
  /** Its shape, where it has that tensor's dtype alone. */
  readonly shape?: Shape;
  readonly place: Place;
}

export interface ModelTensorPlace {
  readonly model: number;
  readonly tensor: string;
}

/**
 * A method with its parameters settled: a function from a tensor's place to its expression, without I/O. The
 * same calls in the same order give the same results; filters remember which tensors they matched, for
 * `unused`.
 */
export interface Compiled {
  /** The parameters as they are used, for `layerloom.json` and the model card; in YAML's spelling. */
  readonly resolved: Readonly<Record<string, unknown>>;
  /**
   * The parameters, models aside and in camel case, that make the same merge again, to the bit. Default: those
   * of the recipe. For methods that find parameters from the models, such as magnitude weights.
   */
  readonly again?: Readonly<Record<string, unknown>>;
  /** @throws LayerloomError INVALID_PARAMETER where the parameters give no expression for the tensor */
  expressionOf(place: Place, tensor: string): Expression;
  /** The tensor's parameters as they are used, for `--explain`. */
  parametersOf?(place: Place, tensor: string): Readonly<Record<string, unknown>>;
  /** The output's tensors, where they are not those of the first model. */
  readonly outputs?: readonly OutputTensor[];
  /**
   * For each layer of the output, which layer of which model it is made like, and the layers that are combined with it;
   * where layers come, go or repeat.
   */
  readonly layersLike?: readonly Origin[];
  /** True where layers of multi-token prediction are left out: they stood behind another number of layers. */
  readonly leavesDraftsOut?: boolean;
  /** The keys of `config.json` that differ from the first model's. */
  readonly configEdits?: Readonly<Record<string, unknown>>;
  /** Where the output is a mixture of experts and the first model is none: its `model_type`, and the form of its experts. */
  readonly mixture?: { readonly family: string; readonly form: ExpertForm };
  /** What the parameters make of these models that is hardly meant. */
  readonly warnings?: readonly string[];
  /** Filters that matched no tensor. To be called once all tensors have their expressions. */
  unused?(): readonly { readonly what: string; readonly path: RecipePath }[];
}

/** The models that a method takes. */
export interface Takes {
  /**
   * `required`: no recipe is complete without a base. `optional`: a recipe may name one. `none`: `base` is no
   * parameter.
   */
  readonly base: 'required' | 'optional' | 'none';
  /**
   * Parameters that name the other models: `task` and `language` (`pair`), `models` (`list`) or `model`
   * (`one`).
   */
  readonly models: 'pair' | 'list' | 'one';
  /**
   * True where `base` is the model that the merge starts from and goes from towards the other, as in slerp,
   * and no ancestor of both. An experiment then merges from the task expert towards the language expert.
   */
  readonly startsFromBase?: boolean;
}

/** A plan as the method that it is of reports on it. */
export interface ReportedPlan {
  readonly recipe: Readonly<Record<string, unknown>>;
  readonly inputs: readonly { readonly name: string; readonly role: string }[];
  readonly shards: readonly {
    readonly tensors: readonly {
      readonly name: string;
      readonly shape: Shape;
      readonly expression: Formula<unknown>;
      /** Indexes of the inputs that it is made of, at any depth. */
      readonly madeOf: readonly number[];
    }[];
  }[];
}

/** Rows and parameters of the output, and those of them that are the expert's. */
export interface Kept {
  /** Rows of matrices by the recipe's sense; any other tensor counts as one row. */
  readonly rows: number;
  readonly rowsKept: number;
  readonly parameters: number;
  readonly parametersKept: number;
}

/** Figures on a plan that its method adds to the result of the merge and to `layerloom.json`. */
export interface MethodReport {
  /** Rows and parameters that stay the expert's, in all and of each tensor. */
  readonly kept?: { readonly all: Kept; readonly tensors: Readonly<Record<string, Kept>> };
  /** Rows of the embeddings where the model got another tokenizer: of its own, made of others, 0, and without a token. */
  readonly transplanted?: {
    readonly rows: number;
    readonly copied: number;
    readonly made: number;
    readonly zero: number;
    readonly padding: number;
  };
}

/** A source of a method, as BibTeX has it. */
export interface Citation {
  /** The entry's key: `yadav2023ties`. */
  readonly key: string;
  readonly title: string;
  /** Family name first, in order. */
  readonly authors: readonly string[];
  readonly year: number;
  /** An arXiv number, `2306.01708`; or the address of what is not there. */
  readonly source: { readonly arxiv: string } | { readonly url: string };
}

/** A way to merge. One file under src/core/methods/ each, registered in src/core/methods/index.ts. */
export interface Method<Parameters> {
  /** In snake_case, as recipes spell it. */
  readonly name: string;
  readonly title: string;
  /** Defaults and checks of the parameters; `shape` names them. */
  readonly schema: z.ZodType<Parameters> & { readonly shape: object };
  /** Tags of the model card. */
  readonly tags: readonly string[];
  /** The papers, or else the program, that the method is from, for the model card. */
  readonly citations?: readonly Citation[] | ((parameters: Parameters) => readonly Citation[]);
  readonly takes: Takes;
  /**
   * The models to merge, in the order of terms. The first gives the output its tensors' names and dtypes, its
   * side files and its configuration.
   */
  models(parameters: Parameters): readonly ModelReference[];
  /** Models whose tensors no expression uses and which must still fit the others. */
  companions(parameters: Parameters): readonly ModelReference[];
  /** True where the output is still the first model, and keeps its model card. */
  readonly keepsCard: boolean;
  /** True where tensors must have layer numbers 0 … L−1. */
  readonly needsLayers: boolean | ((parameters: Parameters) => boolean);
  /** True where models may differ in their number of layers, as where layers are stacked. */
  stacksLayers?(parameters: Parameters): boolean;
  /** True where a recipe of it cannot stand in a model's place: its output is no model like those in other places. */
  readonly standsAlone?: boolean;
  /** The parameter that lists a file for each model: experiments, whose merges have other models each, do not run such methods. */
  readonly filesOfModels?: string;
  /** Lists of parameters, one of which a recipe has whole. Default: those without which the schema fails. */
  readonly required?: readonly (readonly string[])[];
  /** True for parameters, not checked yet, that need a base which other parameters of the method do not. */
  needsBase?(parameters: Readonly<Record<string, unknown>>): boolean;
  /** Parameters that have no meaning beside the given ones, not checked yet: what an experiment records leaves them out. */
  idle?(parameters: Readonly<Record<string, unknown>>): readonly string[];
  /** How the first model gets the tokenizer of the second one, of the parameters; absent where a merge has one vocabulary. */
  transplant?(parameters: Parameters): TransplantRequest;
  /** Statistics of whole models that `compile` needs; undefined where headers are enough. */
  statistics?(parameters: Parameters): NeededStatistics | undefined;
  /** @throws LayerloomError where the parameters do not fit the models */
  compile(parameters: Parameters, context: CompileContext): Compiled;
  /**
   * Lines on what a plan of the method found from the models, such as magnitude weights; printed before the
   * merge begins.
   */
  notes?(plan: ReportedPlan): readonly string[];
  /** Figures on a plan, once it is made. */
  report?(plan: ReportedPlan): MethodReport;
}
