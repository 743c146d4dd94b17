import { ownValue } from '../../base/errors/lookup.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/files/json.js';

/** Names of mixtures' parameters in files of a family whose experts transformers fuses. */
export interface ExpertNames {
  /** An expert's matrices (`experts.0.w1.weight`); absent if files have no separate experts. */
  readonly matrices?: { readonly gate: string; readonly up: string; readonly down: string };
  /** Parts of names in the model, and in files with separate experts. */
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

/** Families by `model_type`, as transformers 5.24 converts them (`conversion_mapping.py`). */
const families: Readonly<Record<string, ExpertNames>> = {
  mixtral: { matrices: mixtral, renamed: [experts, ['.mlp.gate.', '.block_sparse_moe.gate.']] },
  phimoe: { matrices: mixtral, renamed: [experts, ['.mlp.router.', '.block_sparse_moe.gate.']] },
  granitemoe: granite,
  granitemoeshared: granite,
  granitemoehybrid: granite,
};

/** Names in Qwen, DeepSeek, OLMoE and most other families. */
const usual: ExpertNames = {
  matrices: { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' },
  renamed: [],
};

export const familyOf = ({ config }: Pick<CheckpointIndex, 'config'>): string => {
  const text = config?.['text_config'];
  const family = (isObject(text) ? text['model_type'] : undefined) ?? config?.['model_type'];
  return typeof family === 'string' ? family : '';
};

export const expertNamesOf = (checkpoint: Pick<CheckpointIndex, 'config'>): ExpertNames =>
  expertNamesOfFamily(familyOf(checkpoint));

export const expertNamesOfFamily = (family: string): ExpertNames => ownValue(families, family) ?? usual;

export const nameInFiles = ({ renamed }: ExpertNames, name: string): string => {
  const found = renamed.find(([inModel]) => name.includes(inModel));
  return found === undefined ? name : name.replace(...found);
};

export const nameInModel = ({ renamed }: ExpertNames, name: string): string => {
  const found = renamed.find(([, inFiles]) => name.includes(inFiles));
  return found === undefined ? name : name.replace(found[1], found[0]);
};

/** Matches a fused parameter with all experts: `model.layers.0.mlp.experts.gate_up_proj`. */
export const fusedParameter = /^(?<stem>(?:.*\.)?experts)\.(?<which>gate_up|down)_proj$/;

export interface ExpertMatrix {
  /** The fused parameter. Other parts of its name are as in files. */
  readonly parameter: string;
  /** Index among the parameter's matrices; each expert has `matrices` of them. */
  readonly index: number;
  readonly matrices: number;
}

export const ofOneExpert = /(^|\.)experts\.\d+\./;

const oneOfExperts = /^(?<stem>(?:.*\.)?experts)\.(?<expert>\d+)\.(?<matrix>\w+)\.weight$/;

/** Returns the fused parameter with an expert's matrix; undefined for other names. */
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
 * Returns the names of the experts' matrices in a fused parameter, in order. Undefined for other parameters,
 * and for families without separate experts.
 *
 * @param parameter fused, with other parts of the name as in files:
 * `model.layers.0.block_sparse_moe.experts.gate_up_proj`
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
