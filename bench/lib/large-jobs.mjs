// @ts-check
// The jobs of large models.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A command: `args` of the command line. `of`: the job whose output it reads.
 *
 * @typedef {{ name: string, args: string[], of?: string }} Job
 */

const unweighted = ['tsv_m', 'iso_c', 'sce', 'model_stock', 'karcher', 'regmean'];

/**
 * The jobs, by group.
 *
 * @param {string} directory for recipes
 * @param {string} out of commands
 * @param {ReturnType<typeof import('./large-models.mjs').largeModels>} models
 * @returns {{ title: string, make: () => void, jobs: Job[] }[]}
 */
export const largeJobs = (directory, out, models) => {
  /** @param {string} name @param {string} text */
  const file = (name, text) => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };
  /** A recipe of two experts. @param {string} group @param {string} method @param {string} [parameters] */
  const recipe = (group, method, parameters = '') => {
    const [of, ...experts] = models[/** @type {'whole'} */ (group)].models;
    const listed = experts.map((model) =>
      unweighted.includes(method) ? `  - ${model}` : `  - { model: ${model}, weight: 1 }`,
    );
    const lines = [`method: ${method}`, `base: ${of}`, 'models:', ...listed, parameters, ''];
    return file(`${group}-${method}.yaml`, lines.join('\n'));
  };
  /** @param {string} group @param {string[]} grams */
  const regmean = (group, ...grams) => recipe(group, 'regmean', `grams: [${grams.join(', ')}]`);
  /** @param {Job} job @returns {Job} */
  const alone = ({ args, ...job }) => ({ ...job, args: [...args, '--threads', '1'] });
  /** @param {string} group @param {string} merges */
  const experiment = (group, merges) => {
    const [of, task, language] = models[/** @type {'whole'} */ (group)].models;
    return file(
      `${group}-experiment.yaml`,
      `base: ${of}\ntasks: {expert: ${task}}\nlanguages:\n  swahili: {speaker: ${language}}\nmerges:\n  - {name: merge, method: layer_swap, ${merges}}\n`,
    );
  };
  /** @param {string} name @param {string} group @param {string} method @param {string} [parameters] @returns {Job} */
  const merge = (name, group, method, parameters) => ({
    name,
    args: ['merge', recipe(group, method, parameters), '-o', out],
  });
  /** @param {string} name @param {string} group @param {string} method @param {string} [parameters] @returns {Job} */
  const planned = (name, group, method, parameters) => ({
    name: `${name} --dry-run`,
    args: ['merge', recipe(group, method, parameters), '--dry-run'],
  });

  const [base, task, language] = models.whole.models;
  const one = models.whole.file;
  const [adapter = '', adapter2 = ''] = models.whole.adapters;
  const [grams = '', grams2 = ''] = models.whole.grams;
  const [gguf = '', gguf2 = ''] = models.layer.ggufs;
  const numbers = '[1, 2, 3, 4, 5, 6, 7, 8, 9]';
  const [base1, task1, language1] = models.layer.models;
  const swap1 = ['swap', '--task', task1, '--lang', language1, '--bottom', '0', '--top', '0'];
  const [, wideTask, wideLanguage] = models.wide.models;
  const [, matrixTask, matrixLanguage] = models.matrix.models;
  return [
    {
      title: '126 layers, 812 GB',
      make: models.whole.make,
      jobs: [
        { name: 'inspect', args: ['inspect', base] },
        { name: 'inspect, one file of 812 GB', args: ['inspect', one] },
        { name: 'doctor', args: ['doctor', base] },
        { name: 'swap --dry-run', args: ['swap', '--task', task, '--lang', language, '--dry-run'] },
        { name: 'soup --dry-run', args: ['soup', task, language, '--dry-run'] },
        planned('TIES', 'whole', 'ties', 'density: 0.3'),
        planned('TSV-Merge', 'whole', 'tsv_m'),
        planned('Iso-C', 'whole', 'iso_c'),
        { name: 'RegMean --dry-run', args: ['merge', regmean('whole', grams, grams2), '--dry-run'] },
        { name: 'inspect, GGUF', args: ['inspect', models.whole.gguf] },
        { name: 'relayout of GGUF --dry-run', args: ['relayout', models.whole.gguf, '--dry-run'] },
        {
          name: 'relayout of one file to shards by layer --dry-run',
          args: ['relayout', one, '--dry-run'],
        },
        {
          name: 'batch of 81 --dry-run',
          args: ['batch', experiment('whole', `bottom: ${numbers}, top: ${numbers}`), '-o', out, '--dry-run'],
        },
        { name: 'transplant --dry-run', args: ['transplant', task, '--donor', language, '--dry-run'] },
        { name: 'partition', args: ['partition', base, '-o', out] },
        {
          name: 'relayout to one file, linked',
          args: [
            ...['relayout', one, '--layout', 'size', '--max-shard-size', '1000GB'],
            ...['--link', 'symbolic', '-o', out],
          ],
        },
        { name: 'verify of it', args: ['verify', out], of: 'relayout to one file, linked' },
        { name: 'diff with it', args: ['diff', one, out], of: 'relayout to one file, linked' },
        {
          name: 'push of it --dry-run',
          args: ['push', out, 'org/large', '--dry-run'],
          of: 'relayout to one file, linked',
        },
        { name: 'apply an adapter --dry-run', args: ['apply', base, adapter, '--dry-run'] },
        { name: 'soup of adapters', args: ['soup', adapter, adapter2, '--base', base, '-o', out] },
      ],
    },
    {
      title: 'one layer, embeddings and head, 14.8 GB',
      make: models.layer.make,
      jobs: [
        { name: 'swap', args: [...swap1, '-o', out] },
        { name: 'verify --against-inputs', args: ['verify', out, '--against-inputs'], of: 'swap' },
        { name: 'diff', args: ['diff', task1, out], of: 'swap' },
        { name: 'swap --checksums', args: [...swap1, '--checksums', '-o', out] },
        { name: 'soup', args: ['soup', task1, language1, '-o', out] },
        {
          name: 'soup by magnitudes',
          args: ['soup', task1, language1, '--base', base1, '--weights', 'magnitude', '-o', out],
        },
        merge('TIES', 'layer', 'ties', 'density: 0.3'),
        merge('breadcrumbs', 'layer', 'breadcrumbs', 'density: 0.6\ngamma: 0.05'),
        merge('DARE', 'layer', 'dare_ties', 'density: 0.5'),
        merge('DELLA', 'layer', 'della', 'density: 0.5\nepsilon: 0.2'),
        merge('SCE', 'layer', 'sce', 'select_topk: 0.3'),
        merge('model stock', 'layer', 'model_stock'),
        merge('Karcher', 'layer', 'karcher'),
        { name: 'analyze, two experts', args: ['analyze', '--base', base1, task1, language1, '-o', out] },
        {
          name: 'revert by rows',
          args: ['revert', '--base', base1, task1, '--target-kept', '0.5', '-o', out],
        },
        {
          name: 'relayout --quantize fp8-block',
          args: ['relayout', task1, '--quantize', 'fp8-block', '-o', out],
        },
        { name: 'apply an adapter of rank 16', args: ['apply', base1, models.layer.adapter, '-o', out] },
        {
          name: 'batch of one swap',
          args: ['batch', experiment('layer', 'bottom: 0, top: 0'), '-o', out],
        },
        { name: 'store ls', args: ['store', 'ls', join(out, '.store')], of: 'batch of one swap' },
        { name: 'store verify', args: ['store', 'verify', join(out, '.store')], of: 'batch of one swap' },
        { name: 'store gc', args: ['store', 'gc', join(out, '.store')], of: 'batch of one swap' },
        {
          name: 'extract-lora, rank 16',
          args: ['extract-lora', '--base', base1, task1, '--rank', '16', '-o', out],
        },
        {
          name: 'transplant, 30,000 tokens',
          args: ['transplant', task1, '--donor', models.layer.donor, '-k', '2', '-o', out],
        },
        {
          name: 'relayout of GGUF --dtype bfloat16',
          args: ['relayout', gguf, '--dtype', 'bfloat16', '-o', out],
        },
        {
          name: 'swap of GGUF',
          args: ['swap', '--task', gguf, '--lang', gguf2, '--bottom', '0', '--top', '0', '-o', out],
        },
        {
          name: 'swap of two models of a hub',
          args: [
            ...['swap', '--task', 'org/task', '--lang', 'org/lang', '--bottom', '0', '--top', '0'],
            ...['--download', '-o', out],
          ],
        },
        { name: 'push to a hub', args: ['push', task1, 'org/pushed'] },
      ],
    },
    {
      title: 'one matrix of 6144 × 4096, one thread',
      make: models.matrix.make,
      jobs: [
        alone(merge('TSV-Merge of it', 'matrix', 'tsv_m')),
        alone(merge('Iso-C of it', 'matrix', 'iso_c')),
        alone({
          name: 'RegMean of it',
          args: [
            'merge',
            regmean('matrix', `${matrixTask}.grams.safetensors`, `${matrixLanguage}.grams.safetensors`),
            ...['-o', out],
          ],
        }),
        ...[16, 128, 1024].map((rank) =>
          alone({
            name: `extract-lora of it, rank ${rank}`,
            args: ['extract-lora', '--base', matrixTask, matrixLanguage, '--rank', `${rank}`, '-o', out],
          }),
        ),
      ],
    },
    {
      title: 'one matrix of 65,544 × 65,536, 8.6 GB',
      make: models.wide.make,
      jobs: [
        { name: 'diff of it', args: ['diff', wideTask, wideLanguage] },
        { name: 'soup of it', args: ['soup', wideTask, wideLanguage, '-o', out] },
        merge('TIES of it', 'wide', 'ties', 'density: 0.0005'),
        {
          name: 'relayout of it --dtype float32',
          args: ['relayout', wideTask, '--dtype', 'float32', '-o', out],
        },
      ],
    },
  ];
};
