import { visibleLine } from '../../../core/base/errors/visible.js';
import { counted } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import type { MergeProof, ProofVerdict, ProvenTensor } from '../../../core/measure/proof/proof.js';
import { percent } from './sample-text.js';

const words: Readonly<Record<ProofVerdict, string>> = {
  intact: 'intact: every tensor equals the result of the recipe',
  rounded: 'rounded: every tensor equals the result of the recipe, up to rounding',
  different: 'different: it is not the result of the recipe',
  not_comparable:
    'not comparable: these tensors depend on random numbers of the other program; all others are right',
  not_this: 'not this: most of its tensors have nothing in common with the result of the recipe',
};

const mostTensors = 12;

export const describeProof = (proof: MergeProof): string => {
  const { out, against, verdict, tensors, inputs, faults, method, sample } = proof;
  const wrong = tensors.filter(({ state }) => state !== 'equal' && state !== 'rounding');
  const count = (state: ProvenTensor['state']) => tensors.filter((tensor) => tensor.state === state).length;
  const states = (['equal', 'rounding', 'different', 'missing', 'additional', 'not_comparable'] as const)
    .filter((state) => count(state) > 0)
    .map((state) => `${count(state)} ${state}`);
  return [
    `${visibleLine(out)}: ${words[verdict]}${sample === null ? '' : `, in a sample of ${percent(sample.drawnElements / Math.max(1, sample.elements))}`}`,
    `${counted(tensors.length, 'tensor')} against ${visibleLine(against)} (${method}): ${states.join(', ')}`,
    plainTable(inputs.map(({ name, path, commit }) => [name, commit ?? path])),
    ...faults.map(({ kind, sentence }) => `${kind}: ${visibleLine(sentence)}`),
    ...(wrong.length === 0 ? [] : [plainTable(wrong.slice(0, mostTensors).map(rowOf))]),
    ...(wrong.length > mostTensors ? [`… and ${wrong.length - mostTensors} more; --json has them all`] : []),
  ].join('\n');
};

const rowOf = ({ name, state, max, relative, reason }: ProvenTensor): string[] => [
  visibleLine(name),
  state,
  reason ??
    (relative === null || max === null
      ? ''
      : `up to ${max.toPrecision(3)}, ${(100 * relative).toPrecision(3)} % of its norm`),
];
