// @ts-check
// Which shards the merges of an experiment share: a matrix of merges × shards, from the plan of experts that have headers and no weights.
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatBytes } from '../dist/core/base/format.js';
import { encodeHeader, planExperiment } from '../dist/index.js';
import { fontFamily } from '../dist/study/pages/pictures/picture.js';

const escapeText = (/** @type {string} */ text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** The shape of Llama 3.1 8B. */
const [hidden, inner, keys, vocabulary, layers] = [4096, 14336, 1024, 128256, 32];

const config = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: hidden,
  intermediate_size: inner,
  num_hidden_layers: layers,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: vocabulary,
  tie_word_embeddings: false,
  torch_dtype: 'bfloat16',
};

/** @type {Record<string, number[]>} */
const shapes = {
  'model.embed_tokens': [vocabulary, hidden],
  ...Object.fromEntries(
    Array.from({ length: layers }, (_, layer) =>
      Object.entries({
        input_layernorm: [hidden],
        'self_attn.q_proj': [hidden, hidden],
        'self_attn.k_proj': [keys, hidden],
        'self_attn.v_proj': [keys, hidden],
        'self_attn.o_proj': [hidden, hidden],
        post_attention_layernorm: [hidden],
        'mlp.gate_proj': [inner, hidden],
        'mlp.up_proj': [inner, hidden],
        'mlp.down_proj': [hidden, inner],
      }).map(([name, shape]) => [`model.layers.${layer}.${name}`, shape]),
    ).flat(),
  ),
  'model.norm': [hidden],
  lm_head: [vocabulary, hidden],
};

const tensors = Object.entries(shapes).map(([name, shape]) => ({
  name: `${name}.weight`,
  dtype: /** @type {const} */ ('BF16'),
  shape,
  bytes: 2 * shape.reduce((a, b) => a * b),
}));

/** A checkpoint whose weights are a hole in its file, but for its name at the end. @param {string} directory @param {string} name */
const writeHeaders = (directory, name) => {
  const header = encodeHeader(tensors);
  const bytes = tensors.reduce((total, tensor) => total + tensor.bytes, header.length);
  mkdirSync(directory);
  writeFileSync(join(directory, 'config.json'), JSON.stringify(config));
  const file = openSync(join(directory, 'model.safetensors'), 'w');
  writeSync(file, header);
  ftruncateSync(file, bytes);
  writeSync(file, name.padEnd(16), bytes - 16);
  closeSync(file);
};

const experiment = {
  tasks: named('math'),
  languages: { swahili: named('swh') },
  merges: [
    { name: 'default: bottom 5, top 2', method: 'layer_swap' },
    { name: 'bottom 4, top 1', method: 'layer_swap', bottom: 4, top: 1 },
    { name: 'transitions of 1', method: 'layer_swap', bottomTransition: 1, topTransition: 1 },
    { name: 'soups', method: 'soup' },
  ],
};

/** @param {string} stem @returns {Record<string, string>} */
function named(stem) {
  return Object.fromEntries([1, 2, 3].map((index) => [`${stem}-${index}`, `./${stem}-${index}`]));
}

const colours = {
  task: { name: 'a math expert’s', made: '#1b6ca8', linked: '#d3e3f0' },
  language: { name: 'a Swahili expert’s', made: '#2a9150', linked: '#d3ecdb' },
  average: { name: 'an average', made: '#c9761a', linked: '#f6e4cf' },
};

const [left, top, cellWidth, cellHeight, gap] = [136, 92, 15, 11, 22];

/** Draws the matrix. @returns {Promise<string>} */
export const drawSharing = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'layerloom-pictures-'));
  try {
    for (const name of [experiment.tasks, experiment.languages.swahili].flatMap((of) => Object.keys(of)))
      writeHeaders(join(directory, name), name);
    // Titles are no names of directories: entries have a letter each.
    const merges = experiment.merges.map((merge, index) => ({ ...merge, name: 'abcd'[index] ?? '' }));
    const { plan, cost } = await planExperiment({ ...experiment, merges }, { directory });
    return draw(plan, cost);
  } finally {
    rmSync(directory, { recursive: true });
  }
};

/**
 * @param {Awaited<ReturnType<typeof planExperiment>>['plan']} plan
 * @param {import('../dist/index.js').BatchCost} cost
 */
const draw = (plan, cost) => {
  /** Whose a shard is. @param {string} key */
  const kindOf = (key) => {
    const expression = plan.shards.get(key)?.tensors[0]?.expression;
    if (expression?.kind !== 'copy') return 'average';
    return plan.inputs[expression.source.input]?.name.startsWith('math') ? 'task' : 'language';
  };
  /** Embeddings, layers, and what is behind them stand a little apart. @param {number} column */
  const x = (column) => left + column * cellWidth + (column > 0 ? 6 : 0) + (column > layers ? 6 : 0);
  const right = x(layers + 3) + 16;
  const titles = experiment.merges.map(({ name }) => name);
  const seen = new Set();
  const y = (/** @type {number} */ row, /** @type {number} */ entry) =>
    top + row * cellHeight + (entry + 1) * gap;
  const perByte = 90 / Math.max(...plan.merges.map(({ bytes }) => bytes));

  const rows = plan.merges.map(({ merge, shards }, row) => {
    const at = y(row, merge.entry);
    let made = 0;
    /** By colour. @type {Map<string, string>} */
    const cells = new Map();
    for (const [column, { key, bytes }] of shards.entries()) {
      const { made: dark, linked: pale } = colours[kindOf(key)];
      const colour = seen.has(key) ? pale : dark;
      if (!seen.has(key)) made += bytes;
      seen.add(key);
      const square = `M${x(column)} ${at}h${cellWidth - 1}v${cellHeight - 1}h${1 - cellWidth}z`;
      cells.set(colour, (cells.get(colour) ?? '') + square);
    }
    return [
      `<text x="${left - 8}" y="${at + 9}" text-anchor="end" font-size="10" fill="#444">${escapeText(`${merge.task} + ${merge.languageExpert}`)}</text>`,
      ...[...cells].map(([colour, squares]) => `<path fill="${colour}" d="${squares}"/>`),
      `<rect x="${right}" y="${at + 1}" width="${(made * perByte).toFixed(1)}" height="${cellHeight - 3}" fill="#444"/>`,
      `<text x="${(right + made * perByte + 5).toFixed(1)}" y="${at + 9}" font-size="9" fill="#444">${made > 0 ? formatBytes(made) : 'nothing'}</text>`,
    ].join('\n');
  });
  const last = y(plan.merges.length, titles.length - 1);
  const [width, height] = [right + 150, last + 62];
  const headings = titles.map((title, entry) => {
    const row = plan.merges.findIndex(({ merge }) => merge.entry === entry);
    return `<text x="${left}" y="${y(row, entry) - 6}" font-size="11" font-weight="600">${escapeText(title)}</text>`;
  });
  /** @param {number} at @param {string} label @param {'start' | 'middle' | 'end'} anchor */
  const axis = (at, label, anchor) =>
    `<text x="${at}" y="${last + 13}" text-anchor="${anchor}" font-size="10" fill="#444">${label}</text>`;
  const layerLabels = [0, 5, 10, 15, 20, 25, layers - 1].map((layer) =>
    axis(x(layer + 1) + cellWidth / 2, layer === 15 ? 'layer 15' : String(layer), 'middle'),
  );
  const legend = Object.values(colours).map(
    ({ name, made, linked }, index) =>
      `<g transform="translate(${left + index * 178} ${last + 34})"><rect width="14" height="10" fill="${made}"/><rect x="15" width="14" height="10" fill="${linked}"/><text x="36" y="9" font-size="11">${name}</text></g>`,
  );
  const title = `${cost.merges} merges share ${cost.shards} shards`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${escapeText(fontFamily)}" fill="#222" role="img" aria-label="${escapeText(title)}">
<rect width="100%" height="100%" fill="#fff"/>
<text x="20" y="30" font-size="17" font-weight="600">${title}</text>
<text x="20" y="51" font-size="12" fill="#555">Three math × three Swahili experts of 8B, four configurations: ${formatBytes(cost.bytesPlain)} written merge by merge, ${formatBytes(cost.bytesDistinct)} when shared.</text>
<text x="20" y="68" font-size="12" fill="#555">A row is a merge, a column one of its shards. Dark: made for this merge. Pale: linked, as a merge above has it.</text>
<text x="${right}" y="${y(0, 0) - 6}" font-size="11" fill="#444">written for it</text>
${headings.join('\n')}
${rows.join('\n')}
${axis(x(1) - 8, 'embeddings', 'end')}
${layerLabels.join('\n')}
${axis(x(layers + 1), 'norm, head', 'start')}
${legend.join('\n')}
</svg>
`;
};
