import { modelEntry, modelOf } from './mergekit-models.js';
import { cannotSay } from './mergekit-unsupported.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * Writes a mergekit-moe file. Keeps our keys `gates` and `seed`, because mergekit-moe ignores unknown keys.
 *
 * @param complete the plan's recipe without `method`, with keys as in YAML
 * @throws EXPORT_UNSUPPORTED for `experts`, and for a nested recipe
 */
export const mergekitMoe = ({ base, models, shared_experts: shared, experts: form, ...rest }: Json): Json => {
  if (form !== undefined) cannotSay(`how experts are stored (experts: ${String(form)})`, 'leave it out');
  const expert = (value: unknown): Json => {
    const { model, ...keys } = modelEntry(value);
    return { source_model: modelOf(model), ...keys };
  };
  const experts = (list: unknown): readonly Json[] => (Array.isArray(list) ? list.map(expert) : []);
  return {
    base_model: modelOf(base),
    experts: experts(models),
    ...(shared === undefined ? {} : { shared_experts: experts(shared) }),
    ...rest,
  };
};
