import { basename } from 'node:path';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { valueAt } from '../../../core/base/errors/lookup.js';
import { formatPercent } from '../../../core/base/format.js';
import type { ExpertRoles } from '../../../core/measure/analysis/advice/expert-roles.js';
import { type Concern, type Proposal, proposalsOf } from '../../../core/measure/analysis/advice/proposal.js';
import { fileName, type MavVectors } from '../../../core/measure/analysis/analysis.js';

export interface ProposedSwap extends Proposal {
  readonly command: string;
  /** Sentences, one for each concern. */
  readonly warnings: readonly string[];
}

const said: Readonly<Record<Concern, (proposal: Proposal, layers: number) => string>> = {
  'language in the middle': ({ task, language, bottom, top, kept }, layers) =>
    `${task} & ${language}: most of ${language}'s changes lie in the middle; the ${bottom + top} layers taken from it have ${formatPercent(kept.language)} of its largest changes, fewer than if these were spread evenly (${formatPercent((bottom + top) / layers)})`,
  'same layers': ({ task, language, common }) =>
    `${task} & ${language}: both changed the same layers (${formatPercent(common)} of their largest changes), so any swap loses much of one`,
  'no layers': ({ task, language }) =>
    `${task} & ${language}: in the first and in the last layer, ${task}'s share of largest changes is clearly larger than ${language}'s, so no swap is proposed`,
};

const addressOf = ({ name, expert: { path } }: MavVectors): string =>
  basename(path) === name ? path : `${name}=${path}`;

/** Settings of an analysis that its proposed swaps need too. */
export interface SwapSettings {
  readonly stack?: string | undefined;
  /** Absolute path, or `org/name`. */
  readonly config?: string | undefined;
  readonly allowNonFinite?: boolean | undefined;
}

/** Returns the shell command of a swap without transition layers. */
export const swapCommand = (
  task: MavVectors,
  language: MavVectors,
  {
    bottom,
    top,
    stack,
    config,
    allowNonFinite = false,
  }: { readonly bottom: number; readonly top: number } & SwapSettings,
): string =>
  layerloomCommand(
    'swap',
    '--task',
    argument(addressOf(task)),
    '--lang',
    argument(addressOf(language)),
    ...(['--bottom', `${bottom}`, '--top', `${top}`] as const),
    ...(stack === undefined ? [] : (['--stack', argument(stack)] as const)),
    ...(config === undefined ? [] : (['--config', argument(config)] as const)),
    ...(allowNonFinite ? (['--allow-non-finite'] as const) : []),
    ...(['-o', `merged-${fileName(task.name)}-${fileName(language.name)}`] as const),
  );

export const proposedSwaps = (
  experts: readonly MavVectors[],
  roles: ExpertRoles,
  settings: SwapSettings = {},
): ProposedSwap[] => {
  const byName = new Map(experts.map((mav) => [mav.name, mav]));
  return proposalsOf(experts, roles).map((proposal) => {
    const [task, language] = [valueAt(byName, proposal.task), valueAt(byName, proposal.language)];
    return {
      ...proposal,
      command: swapCommand(task, language, { ...proposal, ...settings }),
      warnings: proposal.concerns.map((concern) => said[concern](proposal, task.layers)),
    };
  });
};
