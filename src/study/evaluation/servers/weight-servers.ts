import { delimiter } from 'node:path';
import { shipped } from '../../../core/base/files/shipped.js';
import type { WeightServerKind } from '../evaluation-block.js';
import { isOfThisMachine } from '../reach.js';
import { sglang } from './sglang-server.js';
import { vllm } from './vllm-server.js';
import type { WeightServer } from './weight-server.js';

export const weightServers: Readonly<Record<WeightServerKind, WeightServer>> = { vllm, sglang };

const python = shipped('python');

export const exchangeNeeds = ({ title, option, variables }: WeightServer): string => {
  const words = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  return `${title}, started with ${[...words, option].join(' and ')}`;
};

export const exchangeEnvironment = (kind: WeightServerKind): Record<string, string> => ({
  PYTHONPATH: [python, process.env['PYTHONPATH']].filter(Boolean).join(delimiter),
  ...weightServers[kind].variables,
});

export const faultInCommand = (
  command: string,
  kind: WeightServerKind,
): { readonly reason: string; readonly expected: string } | undefined => {
  const { title, option } = weightServers[kind];
  if (!command.includes(option.split(' ')[1] ?? ''))
    return { reason: 'starts a server that cannot exchange weights', expected: `${title} with ${option}` };
  // Anybody who reaches the server can replace its weights and call functions in its workers.
  const hosts = [...command.matchAll(/--host[=\s]+(\S+)/g)].map(([, host = '']) =>
    host.replaceAll(/['"]/g, ''),
  );
  if (hosts.length > 0 && hosts.every((host) => isOfThisMachine(host))) return undefined;
  return { reason: 'starts a server whose workers others could reach', expected: '--host 127.0.0.1' };
};
