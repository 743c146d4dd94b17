import { ownValue } from '../../../base/errors/lookup.js';
import { isObject } from '../files/json.js';

type Config = Readonly<Record<string, unknown>>;
type Parameters = Readonly<Record<string, unknown>>;

/** Former spellings of RoPE types. For text, the positions of `mrope` are the usual ones. */
const spellings: Readonly<Record<string, string>> = { su: 'longrope', mrope: 'default' };

/** RoPE parameters in transformers 5's spelling: `rope_type` for `type`, and version 4's top-level keys. */
const normalise = ({ type, rope_type, ...rest }: Parameters, config: Config): Parameters => {
  const name = rope_type ?? type ?? 'default';
  return {
    original_max_position_embeddings: config['original_max_position_embeddings'],
    partial_rotary_factor: config['partial_rotary_factor'] ?? config['rotary_pct'],
    ...rest,
    rope_type: spellings[String(name)] ?? name,
  };
};

const parametersIn = (value: unknown): Parameters | undefined =>
  isObject(value) && Object.keys(value).length > 0 ? value : undefined;

/**
 * RoPE parameters by kind of layer; `full_attention` if all are alike. Loaders prefer a non-empty
 * `rope_scaling` of transformers 4, which users paste to enable YaRN.
 */
const ropeOf = (config: Config): ReadonlyMap<string, Parameters> => {
  const { rope_theta: theta, rope_local_base_freq: local } = config;
  const stated = parametersIn(config['rope_parameters']);
  const scaling = parametersIn(config['rope_scaling']);
  const kinds = Object.entries(stated ?? {}).filter((entry): entry is [string, Parameters] =>
    isObject(entry[1]),
  );
  if (kinds.length === 0) {
    if ((scaling ?? stated ?? theta) === undefined) return new Map();
    kinds.push(['full_attention', { rope_theta: theta, ...(scaling ?? stated) }]);
    if (local !== undefined) kinds.push(['sliding_attention', { rope_theta: local }]);
  }
  const scaled = (kind: string) => (kind === 'full_attention' ? scaling : undefined);
  return new Map(kinds.map(([kind, one]) => [kind, normalise({ ...one, ...scaled(kind) }, config)]));
};

/** Returns differences in RoPE as [parameter, value, other value]. Skips parameters that only one configuration has. */
export const ropeDifferences = (a: Config, b: Config): [string, unknown, unknown][] => {
  const [one, other] = [ropeOf(a), ropeOf(b)];
  return [...one].flatMap(([kind, parameters]) => {
    const counterpart = other.get(kind);
    if (counterpart === undefined) return [];
    return Object.keys(parameters)
      .filter((key) => parameters[key] !== undefined && parameters[key] !== null)
      .filter((key) => (ownValue(counterpart, key) ?? null) !== null)
      .filter((key) => JSON.stringify(parameters[key]) !== JSON.stringify(counterpart[key]))
      .map((key): [string, unknown, unknown] => [`RoPE ${key}`, parameters[key], counterpart[key]]);
  });
};
