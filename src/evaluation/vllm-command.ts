import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';

// What a server of vLLM that takes weights is started with.

/** The Python class that gives its workers their methods, as an option of its command. */
export const extensionOption = '--worker-extension-cls layerloom_eval.vllm_weights.Weights';

const python = fileURLToPath(new URL('../../python', import.meta.url));

const developmentMode = { VLLM_SERVER_DEV_MODE: '1' };

/** What a server needs to exchange weights, in words. */
export const exchangeNeeds = `VLLM_SERVER_DEV_MODE=1 and ${extensionOption}`;

/** The variables of its process: where the class is, and leave to call its methods over HTTP. */
export const exchangeEnvironment = (): Record<string, string> => ({
  PYTHONPATH: [python, process.env['PYTHONPATH']].filter(Boolean).join(delimiter),
  ...developmentMode,
});

/** Returns what a command lacks to start such a server, and what it should have; undefined if it lacks nothing. */
export const faultInCommand = (
  command: string,
): { readonly reason: string; readonly expected: string } | undefined => {
  if (!command.includes(extensionOption.split(' ')[1] ?? ''))
    return {
      reason: 'starts a server that cannot exchange weights',
      expected: `vLLM with ${extensionOption}`,
    };
  // Who reaches a server in development mode may call any method of its workers.
  const hosts = [...command.matchAll(/--host[= ]+(\S+)/g)].map(([, host = '']) =>
    host.replaceAll(/['"]/g, ''),
  );
  if (hosts.length > 0 && hosts.every((host) => host === '127.0.0.1' || host === 'localhost'))
    return undefined;
  return { reason: 'starts a server whose workers others could reach', expected: '--host 127.0.0.1' };
};
