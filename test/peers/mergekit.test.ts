import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { required, tabled } from '../../src/core/plan/export/mergekit-differences.js';

// Checks the statements of docs/parity.md and of exports about mergekit against the installed mergekit.

const { LAYERLOOM_PYTHON: python } = process.env;
const hasMergekit = python !== undefined && spawnSync(python, ['-c', 'import mergekit']).status === 0;

describe.skipIf(!hasMergekit)('mergekit (LAYERLOOM_PYTHON with mergekit)', () => {
  let facts: Record<string, unknown>;

  beforeAll(async () => {
    const script = fileURLToPath(new URL('parity/mergekit_facts.py', import.meta.url));
    facts = JSON.parse((await promisify(execFile)(python ?? '', [script])).stdout) as typeof facts;
  });

  const share = (fact: string) => Number(facts[fact]);

  it('ignores keys that it does not know', () => {
    expect(facts['unknown_keys_change_nothing']).toBe(true);
  });

  it('has tables of the families that exports take to be in them, and requires the tensors that these say', () => {
    const found = facts['required'] as Record<string, readonly string[]>;
    expect(Object.keys(found).sort()).toEqual([...tabled].sort());
    for (const [family, name] of required)
      expect([family, found[family]?.some((of) => of.includes(name))]).toEqual([family, true]);
  });

  it('wants a weight where one could be assumed', () => {
    expect(facts['weight_is_required']).toMatch(/Missing required parameter weight/);
  });

  it('keeps neither the first nor the last of equal magnitudes', () => {
    expect(facts['ties_kept']).toMatchObject({ are_the_first: false, are_the_last: false });
  });

  it('samples the quantiles of large tensors at random in arcee_fusion', () => {
    expect(facts['sampled_quantiles']).toMatchObject({
      embedding_elements_differing_between_seeds: expect.toSatisfy((count: number) => count > 0),
      other_elements_differing: 0,
    });
  });

  it('takes norms of large tensors with an error in the third digit', () => {
    expect(share('norm_of_thirty_million_float32_is_off_by')).toBeGreaterThan(1e-4);
  });

  it('selects by rounding errors in arcee_fusion of close models in float32', () => {
    expect(share('fusion_float32_against_float64')).toBeGreaterThan(0.01);
  });

  it('computes task vectors in the dtype of the files where none is named, and averages in float32', () => {
    expect(share('task_arithmetic_without_dtype_differs_in')).toBeGreaterThan(0.01);
    expect(share('linear_without_dtype_differs_in')).toBe(0);
  });

  it('takes a gradient’s last value in a slice of one layer, and its first outside the layers', () => {
    expect(facts['gradients']).toEqual({
      embedding: 0.25,
      one_layer_slice: 0.75,
      first_of_three: 0,
      second_of_three: 0.5,
      third_of_three: 1,
      final_norm: 0,
    });
  });

  it('counts the base among the models where the method has no use for one', () => {
    expect(facts['karcher_with_base_model_is_the_mean_of_all_three']).toBe(true);
    expect(facts['linear_with_base_model']).toMatch(/Missing required parameter weight for .*base/);
    expect(facts['linear_with_base_model_and_a_common_weight_averages_three']).toBe(true);
  });

  it('weighs experts alike in sce where changes are small', () => {
    expect(share('sce_weight_of_small_changes')).toBeCloseTo(0.5, 2);
    expect(share('sce_weight_of_large_changes')).toBeLessThan(0.3);
  });

  it('refuses multislerp of three experts that leave a tensor unchanged, and not of two', () => {
    expect(facts['multislerp_of_an_unchanged_tensor']).toEqual({
      of_two: true,
      of_three: expect.stringContaining('weighted sum of the input tensors is zero'),
    });
  });

  it('scales the only change by sin(tπ/2) in nuslerp', () => {
    expect(share('nuslerp_scale_of_the_only_change')).toBeCloseTo(Math.SQRT1_2, 3);
  });

  it('refuses to merge a model with itself', () => {
    expect(facts['same_model_twice']).toMatch(/Duplicate merge inputs/);
  });

  it('shows filters of a model its own tensor names, and common filters those of the output', () => {
    expect(facts['per_model_filters_see']).toEqual({
      source_layer_5_as_output_1: true,
      source_layer_3_as_output_5: false,
    });
    expect(facts['common_filters_see_the_output_layer']).toBe(true);
    expect(facts['filter_layers.1_also_meets']).toEqual([1, 10, 11]);
  });

  it('leaves out tensors that it does not know', () => {
    expect(facts['tensors_it_does_not_know_are_left_out']).toEqual([
      'model.layers.0.self_attn.q_norm.weight',
    ]);
  });

  it('removes no outliers in breadcrumbs of density 1', () => {
    expect(facts['breadcrumbs_of_density_1_keeps_outliers']).toBe(true);
  });

  it('keeps one element in ties of any density', () => {
    expect(facts['ties_keeps_at_least_one_element']).toEqual([1]);
  });

  it('writes what is no number where weights cancel', () => {
    expect(facts['weights_that_cancel_write']).toBe('16 of 16 not finite');
  });

  it('turns −0 to +0 where a layer is taken by weights 0 and 1', () => {
    expect(facts['taking_one_model_by_weights_0_and_1_turns_minus_zeros']).toBeGreaterThan(0);
  });

  it('merges what follows the layers from as many models as the first slice has', () => {
    expect(facts['final_norm_when_only_the_last_slice_has_two_sources']).toEqual({
      is_the_first_model_alone: true,
    });
  });

  it('takes what a base would give from any of the models, not the first', () => {
    expect(facts['first_of_the_models_without_a_base']).toBeLessThan(20);
  });

  it('lets the last of several mappings win under <<, since PyYAML 6.0.4', () => {
    expect(facts['merge_key_of_several']).toBe(2);
  });

  it('writes the merged head of an untied model, but ties it if the base is tied', () => {
    expect(facts['head_of_an_untied_model_over_a_tied_base']).toEqual({ written: true, tied: true });
  });
});
