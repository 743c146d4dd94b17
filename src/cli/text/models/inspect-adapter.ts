import { visibleLine } from '../../../core/base/errors/visible.js';
import { counted, formatBytes, formatCount } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import { formatLayers } from '../../../core/methods/framework/layer-set.js';
import type { Adapter } from '../../../core/models/adapters/adapter.js';
import { elementsOf } from '../../../core/tensor/reference.js';

export interface AdaptedModules {
  /** Name of the module without its layer: `self_attn.q_proj`. */
  readonly module: string;
  /** Layers with the module; empty outside the layers. */
  readonly layers: readonly number[];
  readonly rank: number;
  readonly alpha: number;
  /** Factor s of B·A. */
  readonly scale: number;
  readonly tensors: number;
  readonly parameters: number;
}

export interface AdapterSummary {
  readonly kind: 'adapter';
  readonly type: string;
  readonly name: string;
  readonly path: string;
  readonly base: string | null;
  readonly rank: number;
  readonly alpha: number;
  readonly rsLora: boolean;
  readonly tensors: number;
  readonly parameters: number;
  readonly bytes: number;
  readonly modules: readonly AdaptedModules[];
  /** Parameters that the adapter changes by other means than LoRA's factors. */
  readonly changed: readonly string[];
  readonly replaced: readonly string[];
}

const inLayer = /(?:^|\.)(?:layers|h|blocks)\.(?<layer>\d+)\.(?<rest>.+)$/;

export const summariseAdapter = ({
  checkpoint,
  config,
  pairs,
  changes,
  replaced,
}: Adapter): AdapterSummary => {
  const modules = new Map<string, { of: AdaptedModules; layers: number[] }>();
  for (const [parameter, { a, b, rank, alpha, scale }] of pairs) {
    const whole = parameter.replace(/\.weight$/, '');
    const { layer, rest } = inLayer.exec(whole)?.groups ?? {};
    const module = rest ?? whole;
    const key = `${module} ${rank} ${alpha} ${scale}`;
    const found = modules.get(key) ?? {
      of: { module, layers: [], rank, alpha, scale, tensors: 0, parameters: 0 },
      layers: [],
    };
    if (layer !== undefined) found.layers.push(Number(layer));
    const { tensors, parameters } = found.of;
    const more = elementsOf(a.shape) + elementsOf(b.shape);
    modules.set(key, { ...found, of: { ...found.of, tensors: tensors + 2, parameters: parameters + more } });
  }
  const references = [...checkpoint.tensors.values()];
  return {
    kind: 'adapter',
    type: config.title,
    name: checkpoint.name,
    path: checkpoint.path,
    base: config.base ?? null,
    rank: config.rank,
    alpha: config.alpha,
    rsLora: config.rsLora,
    tensors: references.length,
    parameters: references.reduce((total, { shape }) => total + elementsOf(shape), 0),
    bytes: references.reduce((total, { begin, end }) => total + end - begin, 0),
    modules: [...modules.values()].map(({ of, layers }) => ({ ...of, layers: layers.sort((a, b) => a - b) })),
    changed: [...changes.keys()],
    replaced: [...replaced.keys()],
  };
};

/** `layers 0–31`, `layers 0–3, 7`; empty outside the layers. */
const layersText = (layers: readonly number[]): string =>
  layers.length === 0
    ? ''
    : `${layers.length === 1 ? 'layer' : 'layers'} ${formatLayers(layers).replaceAll('-', '–').replaceAll(',', ', ')}`;

const short = (number: number): string => String(Number(number.toPrecision(6)));

export const describeAdapter = (summary: AdapterSummary): string => {
  const { type, rank, alpha, rsLora, modules, changed, replaced } = summary;
  const ranks = `LoRA of rank ${rank}, alpha ${short(alpha)}${rsLora ? ', scaled by √rank (rsLoRA)' : ''}`;
  const ofModules = modules.map((one) => [
    one.module,
    layersText(one.layers),
    `rank ${one.rank}`,
    `alpha ${short(one.alpha)}`,
    `scale ${short(one.scale)}`,
    counted(one.tensors, 'tensor'),
    formatCount(one.parameters),
  ]);
  return [
    visibleLine(summary.path),
    '',
    plainTable([
      ['adapter', type === 'LoRA' ? ranks : type],
      ['base', summary.base ?? 'not named'],
      ['parameters', formatCount(summary.parameters)],
      ['size', formatBytes(summary.bytes)],
    ]),
    ...(ofModules.length === 0 ? [] : ['', plainTable(ofModules, 2)]),
    ...(changed.length === 0 ? [] : ['', `  changed: ${visibleLine(changed.join(', '))}`]),
    ...(replaced.length === 0 ? [] : ['', `  replaced whole: ${visibleLine(replaced.join(', '))}`]),
  ].join('\n');
};
