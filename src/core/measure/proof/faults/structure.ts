import { isCopy } from '../agreement.js';
import type { Evidence } from '../evidence.js';
import { counted, type FaultKind, fault, finding, layersIn, listed } from './kind.js';

const inState = (evidence: Evidence, names: readonly string[], state: string) => {
  const left = new Set(names);
  return evidence.tensors.filter((tensor) => tensor.state === state && left.has(tensor.name));
};

const adapterNames = /\.(lora_[AB]|lora_embedding_[AB]|lora_magnitude_vector|base_layer|modules_to_save)\b/;

export const adapterLeft = fault('adapter_left', async (evidence, names) => {
  const left = inState(evidence, names, 'additional').filter(({ name }) => adapterNames.test(name));
  return finding(
    left.map(({ name }) => name),
    `the output still has ${counted(left.length, 'tensor')} of an adapter, which was not merged: ${listed(left.map(({ name }) => name))}`,
  );
});

const wholeLayers = (
  state: 'missing' | 'additional',
  kind: string,
  sentence: (layers: string) => string,
): FaultKind =>
  fault(kind, async (evidence, names) => {
    const there = new Set(
      evidence.tensors.flatMap((tensor) => (tensor.state === state ? [] : (tensor.layer ?? []))),
    );
    const whole = inState(evidence, names, state).filter(({ layer }) => layer !== null && !there.has(layer));
    if (whole.length === 0) return undefined;
    const layers = whole.map(({ layer }) => layer);
    return {
      tensors: whole.map(({ name }) => name),
      figures: { layers: new Set(layers).size },
      sentence: sentence(layersIn(layers)),
    };
  });

export const layersMissing = wholeLayers(
  'missing',
  'layers_missing',
  (layers) => `the output has no ${layers}`,
);

export const layersAdded = wholeLayers(
  'additional',
  'layers_added',
  (layers) => `the output has ${layers}, which the recipe does not make`,
);

export const headMissing = fault('head_missing', async (evidence, names) => {
  const heads = inState(evidence, names, 'missing').filter(({ name }) =>
    /(^|\.)(lm_head|embed_out|output)\.weight$/.test(name),
  );
  if (heads.length === 0) return undefined;
  return {
    tensors: heads.map(({ name }) => name),
    figures: { tied: String(evidence.out.architecture.tied ?? 'unknown') },
    sentence: `the output has no ${listed(heads.map(({ name }) => name))}, and its config.json does not tie it to the embeddings: loaders take random numbers`,
  };
});

const oneSided = (
  state: 'missing' | 'additional',
  kind: string,
  sentence: (count: number, names: string) => string,
): FaultKind =>
  fault(kind, async (evidence, names) => {
    const found = inState(evidence, names, state).map(({ name }) => name);
    return finding(found, sentence(found.length, listed(found)));
  });

export const tensorsMissing = oneSided(
  'missing',
  'tensors_missing',
  (count, names) => `the output lacks ${counted(count, 'tensor')}: ${names}`,
);

export const tensorsAdded = oneSided(
  'additional',
  'tensors_added',
  (count, names) => `the output has ${counted(count, 'tensor')} that the recipe does not make: ${names}`,
);

const otherShapes = (evidence: Evidence, names: readonly string[]) =>
  names.flatMap((name) => {
    const { expected, found } = evidence.pairOf(name);
    if (expected === undefined || found === undefined) return [];
    return expected.shape.join() === found.shape.join() ? [] : [{ name, expected, found }];
  });

/** Makes a kind of fault for matrices that have another number of rows, with the common rows correct. */
const otherRows = (
  kind: string,
  isThis: (found: number, expected: number) => boolean,
  sentence: (names: string, rows: number, wanted: number) => string,
): FaultKind =>
  fault(kind, async (evidence, names) => {
    const found: { name: string; rows: number; wanted: number }[] = [];
    for (const { name, expected, found: own } of otherShapes(evidence, names)) {
      const [[rows = 0, ...width], [wanted = 0, ...widthWanted]] = [own.shape, expected.shape];
      if (width.join() !== widthWanted.join() || !isThis(rows, wanted)) continue;
      const slice = { first: 0, count: width.reduce((all, extent) => all * extent, 1) };
      const [ofOut, ofPlan] = [
        await evidence.readFound(name, [slice]),
        await evidence.readWanted(name, [slice]),
      ];
      if (isCopy(ofOut, ofPlan, own.dtype)) found.push({ name, rows, wanted });
    }
    const [first] = found;
    if (first === undefined) return undefined;
    const { rows, wanted } = first;
    return {
      tensors: found.map(({ name }) => name),
      figures: { rows, expectedRows: wanted },
      sentence: sentence(listed(found.map(({ name }) => name)), rows, wanted),
    };
  });

export const vocabularyTruncated = otherRows(
  'vocabulary_truncated',
  (rows, wanted) => rows < wanted,
  (names, rows, wanted) => `${names} ends after ${rows} of ${wanted} rows: the vocabulary was cut`,
);

export const vocabularyPadded = otherRows(
  'vocabulary_padded',
  (rows, wanted) => rows > wanted,
  (names, rows, wanted) => `${names} has ${rows} rows, and the merge ${wanted}: rows were added`,
);

const corner = 24;

export const transposed = fault('transposed', async (evidence, names) => {
  const found: string[] = [];
  for (const name of names) {
    const { expected, found: own } = evidence.pairOf(name);
    if (expected === undefined || own === undefined || own.shape.length !== 2) continue;
    const [[rows = 0, columns = 0], wanted] = [own.shape, expected.shape];
    if (wanted.length !== 2 || wanted[0] !== columns || wanted[1] !== rows) continue;
    const size = Math.min(corner, rows, columns);
    const ofOut = await evidence.readFound(name, [{ first: 0, count: size * columns }]);
    const ofPlan = await evidence.readWanted(name, [{ first: 0, count: size * rows }]);
    const [a, b] = [new Float32Array(size * size), new Float32Array(size * size)];
    for (let at = 0; at < a.length; at += 1) {
      const [row, column] = [Math.floor(at / size), at % size];
      a[at] = ofOut[row * columns + column] ?? 0;
      b[at] = ofPlan[column * rows + row] ?? 0;
    }
    if (size > 1 && isCopy(a, b, own.dtype)) found.push(name);
  }
  return finding(
    found,
    `${listed(found)} ${found.length === 1 ? 'is' : 'are'} transposed: rows and columns are exchanged`,
  );
});

export const otherShape = fault('other_shape', async (evidence, names) => {
  const [first, ...more] = otherShapes(evidence, names);
  if (first === undefined) return undefined;
  return {
    tensors: [first, ...more].map(({ name }) => name),
    figures: { shape: first.found.shape.join(' × '), expectedShape: first.expected.shape.join(' × ') },
    sentence: `${first.name} is [${first.found.shape.join(', ')}] instead of [${first.expected.shape.join(', ')}]${more.length > 0 ? `, and ${counted(more.length, 'tensor')} more have another shape` : ''}`,
  };
});
