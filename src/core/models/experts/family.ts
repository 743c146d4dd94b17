import { ownValue } from '../../base/lookup.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/json.js';

/** What the files of a family call the parameters of its mixtures, where transformers holds the experts fused. */
export interface ExpertNames {
  /** The matrices of one expert, each with its number before: `experts.0.w1.weight`. Without, a family's files have no such. */
  readonly matrices?: { readonly gate: string; readonly up: string; readonly down: string };
  /** Parts of names in the model and in the files that have each expert by itself. */
  readonly renamed: readonly (readonly [inModel: string, inFiles: string])[];
}

const mixtral = { gate: 'w1', up: 'w3', down: 'w2' };
const experts = ['.mlp.experts.', '.block_sparse_moe.experts.'] as const;

const granite: ExpertNames = {
  renamed: [
    ['.block_sparse_moe.experts.gate_up_proj', '.block_sparse_moe.input_linear.weight'],
    ['.block_sparse_moe.experts.down_proj', '.block_sparse_moe.output_linear.weight'],
    ['.block_sparse_moe.router.weight', '.block_sparse_moe.router.layer.weight'],
  ],
};

/** By `model_type`, as transformers 5.24 converts names (`conversion_mapping.py`). */
const families: Readonly<Record<string, ExpertNames>> = {
  mixtral: { matrices: mixtral, renamed: [experts, ['.mlp.gate.', '.block_sparse_moe.gate.']] },
  phimoe: { matrices: mixtral, renamed: [experts, ['.mlp.router.', '.block_sparse_moe.gate.']] },
  granitemoe: granite,
  granitemoeshared: granite,
  granitemoehybrid: granite,
};

/** Qwen's, DeepSeek's, OLMoE's, and those of most others. */
const usual: ExpertNames = {
  matrices: { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' },
  renamed: [],
};

/** Returns the `model_type` of a checkpoint's language model. */
export const familyOf = ({ config }: Pick<CheckpointIndex, 'config'>): string => {
  const text = config?.['text_config'];
  const family = (isObject(text) ? text['model_type'] : undefined) ?? config?.['model_type'];
  return typeof family === 'string' ? family : '';
};

export const expertNamesOf = (checkpoint: Pick<CheckpointIndex, 'config'>): ExpertNames =>
  expertNamesOfFamily(familyOf(checkpoint));

/** @param family `model_type` */
export const expertNamesOfFamily = (family: string): ExpertNames => ownValue(families, family) ?? usual;

/** Returns the name that files have of a parameter which the model has by this one. */
export const nameInFiles = ({ renamed }: ExpertNames, name: string): string => {
  const found = renamed.find(([inModel]) => name.includes(inModel));
  return found === undefined ? name : name.replace(...found);
};

/** Returns the name by which the model has a parameter of this name in files. */
export const nameInModel = ({ renamed }: ExpertNames, name: string): string => {
  const found = renamed.find(([, inFiles]) => name.includes(inFiles));
  return found === undefined ? name : name.replace(found[1], found[0]);
};

/** A parameter that has the matrices of all experts: `model.layers.0.mlp.experts.gate_up_proj`. */
export const fusedParameter = /^(?<stem>(?:.*\.)?experts)\.(?<which>gate_up|down)_proj$/;

/** The matrix of one expert, as a part of a fused parameter. */
export interface ExpertMatrix {
  /** As files spell it but for the fusion. */
  readonly parameter: string;
  /** Its place among the matrices of the parameter, of which each expert has so many. */
  readonly index: number;
  readonly matrices: number;
}

/** Matches the name of any tensor of one expert. */
export const ofOneExpert = /(^|\.)experts\.\d+\./;

const oneOfExperts = /^(?<stem>(?:.*\.)?experts)\.(?<expert>\d+)\.(?<matrix>\w+)\.weight$/;

/** Returns the fused parameter that the matrix of an expert is a part of; undefined for other names. */
export const fusedNameOf = ({ matrices }: ExpertNames, name: string): ExpertMatrix | undefined => {
  const { stem, expert, matrix } = oneOfExperts.exec(name)?.groups ?? {};
  if (matrices === undefined || stem === undefined) return undefined;
  const { gate, up, down } = matrices;
  if (matrix === down) return { parameter: `${stem}.down_proj`, index: Number(expert), matrices: 1 };
  if (matrix !== gate && matrix !== up) return undefined;
  const index = 2 * Number(expert) + (matrix === up ? 1 : 0);
  return { parameter: `${stem}.gate_up_proj`, index, matrices: 2 };
};

/**
 * Returns the names of the matrices of one expert that a fused parameter has, one below the other; undefined for another
 * parameter, and in a family whose files have no experts by themselves.
 *
 * @param parameter as files spell it but for the fusion: `model.layers.0.block_sparse_moe.experts.gate_up_proj`
 */
export const matricesOf = (
  { matrices }: ExpertNames,
  parameter: string,
  expert: number,
): readonly string[] | undefined => {
  const { stem, which } = fusedParameter.exec(parameter)?.groups ?? {};
  if (matrices === undefined || stem === undefined) return undefined;
  const { gate, up, down } = matrices;
  return (which === 'down' ? [down] : [gate, up]).map((matrix) => `${stem}.${expert}.${matrix}.weight`);
};
