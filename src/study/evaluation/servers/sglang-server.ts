import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { reasonOf } from '../../../core/base/errors/errors.js';
import { isOfThisMachine } from '../reach.js';
import { PermanentError, type ServerClient, ServerError } from './server-client.js';
import { probe, type WeightServer } from './weight-server.js';

const loader = 'layerloom_eval.sglang_weights.load';

const modelSchema = z.object({ model_path: z.string(), served_model_name: z.string() });
const updatedSchema = z.object({ success: z.literal(true) });
const generatedSchema = z.object({ meta_info: z.object({ cached_tokens: z.number() }) });
const serverSchema = z.object({
  host: z.string(),
  tp_size: z.int().min(1).max(1024),
  pp_size: z.int(),
  dp_size: z.int(),
  custom_weight_loader: z.array(z.string()).nullish(),
});

/**
 * Pickles `[(NAME, torch.Tensor())]` in base64, as SGLang expects tensors by HTTP. The opcodes of protocol 2
 * make an empty list, the name with its length, the class without arguments, a pair, and append it.
 */
const emptyTensor = (name: string): string => {
  const text = Buffer.from(name);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  const before = Buffer.from('\x80\x02]X', 'latin1');
  const after = Buffer.from('ctorch\nTensor\n)R\x86a.', 'latin1');
  return Buffer.concat([before, length, text, after]).toString('base64');
};

/**
 * Number of workers.
 *
 * @throws PermanentError if the server lacks layerloom's loader or has unsupported options
 */
const workersOf = async (server: ServerClient): Promise<number> => {
  const found = await server.json(serverSchema, '/server_info');
  // Without layerloom's loader, the update would end SGLang.
  if (!(found.custom_weight_loader ?? []).includes(loader))
    throw new PermanentError(`${server.url} was started without --custom-weight-loader ${loader}`);
  if (!isOfThisMachine(found.host))
    throw new PermanentError(`others could reach ${server.url}, which was started with --host ${found.host}`);
  if (found.pp_size !== 1 || found.dp_size !== 1)
    throw new PermanentError(`${server.url} uses --pp-size or --dp-size; only --tp-size is supported`);
  return found.tp_size;
};

/** Loads weights through layerloom's weight loader, which SGLang calls with the model in each worker. */
export const sglang: WeightServer = {
  title: 'SGLang',
  option: `--custom-weight-loader ${loader}`,
  variables: {},
  model: async (server) => {
    const found = await server.json(modelSchema, '/model_info');
    return { servedName: found.served_model_name, root: found.model_path };
  },
  exchange: async (server, request) => {
    const workers = Array.from({ length: await workersOf(server) }, (_, rank) => rank);
    const replies = await mkdtemp(join(tmpdir(), 'layerloom-exchange-')).catch((error: unknown) => {
      throw new PermanentError(
        `cannot make a directory for the workers' answers (${reasonOf(error)}): check TMPDIR`,
      );
    });
    try {
      const tensor = emptyTensor(JSON.stringify({ ...request, replies }));
      // An open update blocks the next update, so an abort must not stop an update's begin or end.
      const updates = server.unstoppable();
      await updates.json(updatedSchema, '/begin_weight_update', { selector: 'target' });
      const end = () => updates.json(updatedSchema, '/end_weight_update', {});
      await server
        .json(updatedSchema, '/update_weights_from_tensor', {
          serialized_named_tensors: workers.map(() => tensor),
          load_format: loader,
          selector: 'target',
        })
        .catch(async (error: unknown) => {
          await end().catch(() => undefined);
          throw error;
        });
      await end();
      return await Promise.all(
        workers.map((rank) =>
          readFile(join(replies, `${rank}.json`), 'utf8').catch((error: unknown) => {
            throw new ServerError(`worker ${rank} of ${server.url} gave no answer (${reasonOf(error)})`);
          }),
        ),
      );
    } finally {
      await rm(replies, { recursive: true, force: true });
    }
  },
  emptyCache: async (server) => {
    await server.text('/flush_cache', {});
    const { meta_info } = await server.json(generatedSchema, '/generate', {
      text: probe,
      sampling_params: { max_new_tokens: 1 },
    });
    if (meta_info.cached_tokens > 0)
      throw new ServerError('it answers from a prefix cache that belongs to other weights');
  },
};
