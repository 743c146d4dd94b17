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

/**
 * RoPE parameters by kind of layer; `full_attention` if all are of one kind. Reads transformers 5's
 * `rope_parameters`, and version 4's `rope_theta`, `rope_scaling` and `rope_local_base_freq` (Gemma 3).
 */
const ropeOf = (config: Config): ReadonlyMap<string, Parameters> => {
  const {
    rope_parameters: parameters,
    rope_theta: theta,
    rope_scaling: scaling,
    rope_local_base_freq: local,
  } = config;
  if (isObject(parameters)) {
    const kinds = Object.entries(parameters).filter((entry): entry is [string, Parameters] =>
      isObject(entry[1]),
    );
    const all: [string, Parameters][] = kinds.length > 0 ? kinds : [['full_attention', parameters]];
    return new Map(all.map(([kind, one]) => [kind, normalise(one, config)]));
  }
  if (theta === undefined) return new Map();
  const full = normalise({ ...(isObject(scaling) ? scaling : {}), rope_theta: theta }, config);
  const sliding: [string, Parameters][] =
    local === undefined ? [] : [['sliding_attention', normalise({ rope_theta: local }, config)]];
  return new Map([['full_attention', full], ...sliding]);
};

/** Returns differences in RoPE as [parameter, value, other value]. Skips parameters that only one has. */
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
