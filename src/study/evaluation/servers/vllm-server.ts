import * as z from 'zod';
import { type ServerClient, ServerError } from './server-client.js';
import { probe, type WeightServer } from './weight-server.js';

const modelsSchema = z.object({ data: z.array(z.object({ id: z.string(), root: z.string() })).min(1) });
const resultsSchema = z.object({ results: z.array(z.array(z.string())).min(1) });
const resetSchema = z.object({ success: z.literal(true) });

/** Counts tokens served from the prefix cache. @throws ServerError */
const hitsOf = async (server: ServerClient): Promise<number> => {
  const metrics = await server.text('/metrics');
  const counts = [...metrics.matchAll(/^vllm:prefix_cache_hits_total(?:\{[^}]*\})? (\S+)$/gm)];
  const count = counts.reduce((sum, [, each]) => sum + Number(each), 0);
  if (counts.length === 0 || !Number.isFinite(count))
    throw new ServerError(`${server.url}/metrics lacks the counter of prefix cache hits`);
  return count;
};

/** Loads weights through the worker extension `vllm_weights.py`, which can be called in development mode. */
export const vllm: WeightServer = {
  title: 'vLLM',
  option: '--worker-extension-cls layerloom_eval.vllm_weights.Weights',
  variables: { VLLM_SERVER_DEV_MODE: '1' },
  model: async (server) => {
    const { data } = await server.json(modelsSchema, '/v1/models');
    return { servedName: data[0]?.id ?? '', root: data[0]?.root ?? '' };
  },
  exchange: async (server, request) => {
    const { results } = await server.json(resultsSchema, '/collective_rpc', {
      method: 'layerloom_exchange',
      args: [JSON.stringify(request)],
      timeout: server.timeoutSeconds,
    });
    return results.map(([text = '']) => text);
  },
  emptyCache: async (server, servedName) => {
    await server.json(resetSchema, '/reset_prefix_cache', {});
    const before = await hitsOf(server);
    await server.json(z.object({}), '/v1/completions', { model: servedName, prompt: probe, max_tokens: 1 });
    if ((await hitsOf(server)) > before)
      throw new ServerError('it answers from a prefix cache that belongs to other weights');
  },
};
