import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareRun } from '../../src/study/evaluation/harness/harness.js';
import { parseEvaluation } from '../../src/study/evaluation/settings.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const argumentsFor = async (files: Record<string, object>, evaluate: object = {}) => {
  const root = temporaryDirectory();
  const path = join(root, 'model');
  mkdirSync(path);
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(path, name), JSON.stringify(content));
  const settings = parseEvaluation(
    {
      ...{ tasks: { japanese: 'layerloom_mgsm_ja' }, backend: 'local-completions' },
      ...{ base_url: 'http://localhost:8000', ...evaluate },
    },
    root,
  );
  const words = await prepareRun({
    ...{ name: 'model', path, tasks: ['layerloom_mgsm_ja'], fewshot: 8, sample: 0, settings },
    rows: new Map(),
    ...{ includePaths: [], server: settings.baseUrls[0], directory: join(root, 'run') },
  });
  const { model_args } = JSON.parse(readFileSync(words[2] ?? '', 'utf8'));
  return { path, given: model_args as Record<string, unknown> };
};

describe('a server is sent the prompts that hf gives the model', () => {
  it('as long as the model takes them', async () => {
    const { path, given } = await argumentsFor({ 'config.json': { max_position_embeddings: 8192 } });
    expect(given).toEqual({
      ...{ model: path, tokenizer: path, tokenizer_backend: 'huggingface' },
      ...{ max_length: 8192, add_bos_token: true },
      base_url: 'http://localhost:8000/v1/completions',
    });
  });

  it.each<[string, object, number | undefined]>([
    ['of a model of text and images', { text_config: { max_position_embeddings: 32768 }, n_ctx: 77 }, 32768],
    ['of GPT-2', { n_positions: 1024, n_ctx: 512 }, 1024],
    ['of a model without a limit', { model_type: 'mamba' }, undefined],
  ])('as long as its configuration says: %s', async (_, config, expected) => {
    expect((await argumentsFor({ 'config.json': config })).given['max_length']).toBe(expected);
  });

  it('with the special tokens of the tokenizer, but not before a chat template’s', async () => {
    expect((await argumentsFor({})).given['add_bos_token']).toBe(true);
    const { given } = await argumentsFor(
      {},
      { backend: 'local-chat-completions', arguments: ['--apply_chat_template'] },
    );
    expect(given['add_bos_token']).toBe(false);
    expect(given['base_url']).toBe('http://localhost:8000/v1/chat/completions');
  });

  it('unless model_args say otherwise', async () => {
    const files = { 'config.json': { max_position_embeddings: 8192 } };
    const { given } = await argumentsFor(files, { model_args: { max_length: 4096, model: 'served' } });
    expect(given).toMatchObject({ max_length: 4096, model: 'served' });
  });

  it('and hf finds them itself', async () => {
    const files = { 'config.json': { max_position_embeddings: 8192 } };
    const { path, given } = await argumentsFor(files, { backend: 'hf', base_url: undefined });
    expect(given).toEqual({ pretrained: path });
  });
});
