import { isCopy } from '../agreement.js';
import type { Evidence, Finding, Sampled } from '../evidence.js';
import type { Source } from '../sources.js';
import { counted, type FaultKind, fault, finding, layersIn, listed } from './kind.js';

// Faults of tensors that are exact copies of an input's, although the recipe merges them.

const copiesIn = async (
  evidence: Evidence,
  names: readonly string[],
): Promise<{ readonly source: Source; readonly copies: readonly Sampled[] } | undefined> => {
  const samples = (await evidence.sampled(names)).filter(({ copyOf }) => copyOf.length > 0);
  const counts = evidence.sources.map((source) => ({
    source,
    copies: samples.filter(({ copyOf }) => copyOf.includes(source)),
  }));
  const [most] = counts.toSorted((a, b) => b.copies.length - a.copies.length);
  return most === undefined || most.copies.length === 0 ? undefined : most;
};

/** Maximum number of correct tensors read to find out whether a whole model was returned. */
const mostRight = 24;

const isWhole = async (evidence: Evidence, source: Source, wrong: ReadonlySet<string>): Promise<boolean> => {
  const right = evidence.tensors.filter(({ name, state }) => state === 'equal' && !wrong.has(name));
  const step = Math.max(1, Math.floor(right.length / mostRight));
  for (const { name } of right.filter((_, index) => index % step === 0)) {
    const sample = await evidence.sampleOf(name);
    const values = sample?.sources.get(source);
    if (sample !== undefined && !(values !== undefined && isCopy(sample.found, values, sample.dtype)))
      return false;
  }
  return true;
};

const returned = (kind: string, isThis: (source: Source, evidence: Evidence) => boolean): FaultKind =>
  fault(kind, async (evidence, names) => {
    const found = await copiesIn(evidence, names);
    if (found === undefined || !isThis(found.source, evidence)) return undefined;
    const { source, copies } = found;
    if (copies.length < (await evidence.sampled(names)).length) return undefined;
    if (!(await isWhole(evidence, source, new Set(names)))) return undefined;
    return finding(
      copies.map(({ name }) => name),
      `the output is ${source.name} unchanged: nothing was merged`,
      { model: source.name },
    );
  });

const hasAdapter = ({ sources }: Evidence) => sources.some(({ isAdapted }) => isAdapted);

export const baseReturned = returned(
  'base_returned',
  ({ role }, evidence) => role === 'base' && !hasAdapter(evidence),
);

export const inputReturned = returned('input_returned', ({ role }) => role !== 'base');

const roleNotMerged = (kind: string, roles: ReadonlySet<string>, what: string): FaultKind =>
  fault(kind, async (evidence, names) => {
    const found = await copiesIn(evidence, names);
    if (found === undefined || hasAdapter(evidence)) return undefined;
    const copies = found.copies.filter(({ role }) => roles.has(role));
    const isOnly = found.copies.every(
      ({ role }) => roles.has(role) || (role === 'finalNorm' && roles.has('blockNorm')),
    );
    if (copies.length === 0 || !isOnly) return undefined;
    return notMerged(found.source, copies, what);
  });

const notMerged = ({ name }: Source, copies: readonly Sampled[], what: string): Finding => ({
  tensors: copies.map((copy) => copy.name),
  figures: { model: name, tensors: copies.length },
  sentence: `${what} ${copies.length === 1 ? 'was' : 'were'} not merged, and ${copies.length === 1 ? 'is' : 'are'} those of ${name}: ${listed(copies.map((copy) => copy.name))}`,
});

export const headNotMerged = roleNotMerged('head_not_merged', new Set(['head']), 'the head');
export const embeddingsNotMerged = roleNotMerged(
  'embeddings_not_merged',
  new Set(['embedding']),
  'the embeddings',
);
export const headAndEmbeddingsNotMerged = roleNotMerged(
  'head_and_embeddings_not_merged',
  new Set(['embedding', 'head']),
  'head and embeddings',
);
export const normsNotMerged = roleNotMerged(
  'norms_not_merged',
  new Set(['blockNorm', 'finalNorm']),
  'the norms',
);

export const rolesExchanged = fault('roles_exchanged', async (evidence, names) => {
  const { task, language } = evidence.recipe;
  if (task === undefined || language === undefined) return undefined;
  const other = await evidence.replan({ ...evidence.recipe, task: language, language: task });
  if (other === undefined || !(await evidence.fitsRight(other))) return undefined;
  const fitting: string[] = [];
  for (const { name } of await evidence.sampled(names))
    if (await evidence.fitsTensor(name, other.get(name))) fitting.push(name);
  if (fitting.length < names.length) return undefined;
  return finding(
    fitting,
    'the roles are exchanged: the output is the swap with the task expert and the language expert in each other’s place',
  );
});

/** Whole layers of a swap are the other expert's. */
export const wrongBoundary = fault('wrong_boundary', async (evidence, names) => {
  if (!/swap/.test(evidence.method.replace(/_/g, '').toLowerCase())) return undefined;
  const samples = (await evidence.sampled(names)).filter(
    ({ layer, copyOf }) => layer !== null && copyOf.length > 0,
  );
  const [first] = samples;
  if (first === undefined) return undefined;
  const layers = samples.map(({ layer }) => layer);
  const taken = first.copyOf[0]?.name ?? '';
  const wanted = [...first.sources].find(([, values]) => isCopy(values, first.wanted, first.dtype))?.[0];
  return {
    tensors: samples.map(({ name }) => name),
    figures: { layers: [...new Set(layers)].join(', '), model: taken },
    sentence: `${layersIn(layers)} ${new Set(layers).size === 1 ? 'is' : 'are'} of ${taken}, and the recipe ${wanted === undefined ? 'averages them' : `takes them of ${wanted.name}`}: the boundary is another`,
  };
});

/** Other tensors are exact copies of one input's tensors. */
export const partNotMerged = fault('part_not_merged', async (evidence, names) => {
  const found = await copiesIn(evidence, names);
  if (found === undefined) return undefined;
  const { source, copies } = found;
  const layers = copies.map(({ layer }) => layer);
  const modules = [...new Set(copies.map(({ module }) => module))];
  return {
    tensors: copies.map(({ name }) => name),
    figures: { model: source.name, layers: [...new Set(layers)].join(', '), modules: modules.join(', ') },
    sentence: `${counted(copies.length, 'tensor')} in ${layersIn(layers)} are unmerged copies of ${source.name}: ${listed(modules)}`,
  };
});
