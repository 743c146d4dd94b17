import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { push } from '../../src/api/push.js';
import { LayerloomError, layerSwap, relayout } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { writeFamily } from '../fixtures/family.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { HubServer } from '../fixtures/hub-server.js';
import { HubUploads, type UploadOptions } from '../fixtures/hub-uploads.js';
import { writeHeadersOnly } from '../fixtures/range-cache.js';

const hubFor = async (options: Omit<UploadOptions, 'writers'> = {}) => {
  const hub = await new HubServer({ tokens: ['writer', 'reader'], granted: ['writer', 'reader'] }).start();
  onTestFinished(() => hub.close());
  const uploads = new HubUploads(hub, { writers: ['writer'], ...options });
  const as = (token: string, more = {}) => impatient(hubUser(hub, { HF_TOKEN: token }), more);
  return { hub, uploads, as };
};

const merged = async (): Promise<string> => {
  const family = writeFamily();
  const out = join(family.root, 'out');
  await layerSwap({ task: family.a, language: family.b, bottom: 2, top: 1 }, { out });
  return out;
};

const refusal = (work: Promise<unknown>): Promise<LayerloomError> =>
  work.then(
    () => Promise.reject(new Error('nothing was refused')),
    (error: unknown) => (error instanceof LayerloomError ? error : Promise.reject(error)),
  );

describe('push', () => {
  it('refuses a model of which only some bytes are here, also through links', async () => {
    const { hub, as } = await hubFor();
    const family = writeFamily();
    const folder = writeHeadersOnly(join(family.root, 'ranges'), 'org/a', family.a);
    const links = join(family.root, 'links');
    mkdirSync(links);
    for (const name of ['config.json', 'model.safetensors'])
      symlinkSync(join(folder, name), join(links, name));
    for (const directory of [folder, links])
      for (const dryRun of [true, false]) {
        const { code, message } = await refusal(push(directory, 'me/holes', { ...as('writer'), dryRun }));
        expect(code).toBe('NOT_A_CHECKPOINT');
        expect(message).toMatch(/model\.safetensors have not been downloaded; fetch the whole model by/);
      }
    expect(hub.requests).toEqual([]);
  });

  it('makes the repository, and uploads weights, side files and card in one commit', async () => {
    const { uploads, as } = await hubFor();
    const directory = await merged();
    let [done, total] = [0, 0];
    const result = await push(directory, 'me/merged', {
      ...as('writer', {
        onProgress: (progress: { done: number; total: number }) => {
          ({ done, total } = progress);
        },
      }),
      private: true,
      message: 'Swap layers',
    });
    expect(uploads.made.get('me/merged')).toBe('private');
    const [commit] = uploads.commits;
    expect(commit).toMatchObject({ id: 'me/merged', branch: 'main', title: 'Swap layers' });
    const names = [...(commit?.files.keys() ?? [])];
    expect(names).toContain('README.md');
    expect(names).toContain('config.json');
    // It names paths of this machine.
    expect(names).not.toContain('layerloom.json');
    for (const [name, content] of commit?.files ?? [])
      expect(content.equals(readFileSync(join(directory, name))), name).toBe(true);
    expect(result.commit).toMatch(/^[0-9a-f]{40}$/);
    expect(result.files.every(({ state }) => state === 'sent')).toBe(true);
    expect(done).toBe(total);
    expect(result.warnings).toEqual([
      expect.stringContaining('names no base_model'),
      expect.stringContaining('states no license'),
    ]);
  });

  it('sends nothing that the repository has, and makes no commit where nothing changes', async () => {
    const { uploads, as } = await hubFor();
    const directory = await merged();
    await push(directory, 'me/merged', as('writer'));
    const sent = uploads.received.length;
    const again = await push(directory, 'me/merged', as('writer'));
    expect(again.commit).toBeUndefined();
    expect(again.files.every(({ state }) => state === 'there')).toBe(true);
    writeFileSync(join(directory, 'README.md'), '---\nlicense: mit\nbase_model: org/a\n---\n');
    const changed = await push(directory, 'me/merged', as('writer'));
    expect(changed.files.filter(({ state }) => state === 'sent').map(({ name }) => name)).toEqual([
      'README.md',
    ]);
    expect(changed.warnings).toEqual([]);
    expect(uploads.received.length).toBe(sent);
    expect([...(uploads.commits.at(-1)?.files.keys() ?? [])]).toEqual(['README.md']);
  });

  it('continues after a commit that failed, without sending a file twice', async () => {
    const { hub, uploads, as } = await hubFor();
    const directory = await merged();
    hub.faults.push({ kind: 'status', status: 503, on: /\/commit\//, times: 99 });
    const error = await refusal(push(directory, 'me/merged', as('writer')));
    expect(error.code).toBe('HUB_UNAVAILABLE');
    hub.faults.length = 0;
    expect((await push(directory, 'me/merged', as('writer'))).bytesSent).toBe(0);
    expect(new Set(uploads.received).size).toBe(uploads.received.length);
    expect(uploads.commits).toHaveLength(1);
  });

  it('repeats what fails for a while', async () => {
    const { hub, uploads, as } = await hubFor();
    hub.faults.push({ kind: 'status', status: 503, on: /^\/storage\// });
    hub.faults.push({ kind: 'status', status: 429, on: /preupload/, headers: { 'retry-after': '0' } });
    const result = await push(await merged(), 'me/merged', as('writer'));
    expect(uploads.commits).toHaveLength(1);
    // Bytes of repeated requests count once.
    const weights = result.files.filter(({ name }) => name.endsWith('.safetensors'));
    expect(result.bytesSent).toBe(weights.reduce((sum, { bytes }) => sum + bytes, 0));
  });

  it('sends large files in parts where the hub says so, whose completion has an answer of any kind', async () => {
    const { uploads, as } = await hubFor({ partBytes: 1500 });
    const directory = await merged();
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const { files, bytesSent } = await push(directory, 'me/merged', as('writer'));
    // Node's warnings about many requests that listen to one signal.
    expect(warnings).toEqual([]);
    const large = files.filter(({ name }) => name.endsWith('.safetensors'));
    expect(Math.max(...large.map(({ bytes }) => bytes))).toBeGreaterThan(3000);
    expect(uploads.received).toHaveLength(large.length);
    for (const { name } of large)
      expect(uploads.commits[0]?.files.get(name)).toEqual(readFileSync(join(directory, name)));
    expect(bytesSent).toBe(large.reduce((sum, { bytes }) => sum + bytes, 0));
  });

  it('says of an upload in parts that the hub no longer knows that a new one is to be begun', async () => {
    const { hub, uploads, as } = await hubFor({ partBytes: 1500 });
    const directory = await merged();
    hub.faults.push({ kind: 'status', status: 404, on: /complete_multipart/, times: 5 });
    const error = await refusal(push(directory, 'me/merged', as('writer')));
    expect(error.code).toBe('HUB_UNAVAILABLE');
    expect(error.message).toMatch(/answers 404 to the upload of a file: .*; push again/);
    hub.faults.length = 0;
    await push(directory, 'me/merged', as('writer'));
    expect(uploads.commits).toHaveLength(1);
  });

  it('commits to a branch, which it makes', async () => {
    const { uploads, as } = await hubFor();
    const directory = await merged();
    await push(directory, 'me/merged', { ...as('writer'), revision: 'try/2' });
    expect(uploads.branches).toEqual(['try/2']);
    expect(uploads.commits[0]?.branch).toBe('try/2');
  });

  it('has the hub copy shards that are unchanged files of a merged model', async () => {
    const { hub, uploads, as } = await hubFor({ copies: () => true });
    const family = writeFamily();
    await relayout({ model: family.a }, { out: join(family.root, 'a-by-layer') });
    hub.addDirectory('org/a', join(family.root, 'a-by-layer'));
    const env = hubUser(hub);
    const out = join(family.root, 'out');
    const { code } = await cli(
      ['swap', '--task', 'org/a', '--lang', family.b, '--bottom', '2', '--top', '1', '-o', out, '--download'],
      env,
    );
    expect(code).toBe(0);
    const { files } = await push(out, 'me/merged', as('writer'));
    const copied = files.filter(({ state }) => state === 'copied');
    // The five layers between two of the bottom and one of the top.
    expect(copied).toHaveLength(5);
    expect(uploads.copied.map(({ source }) => source)).toEqual(copied.map(() => 'org/a'));
    expect(uploads.received).toHaveLength(
      files.filter(({ name }) => name.endsWith('.safetensors')).length - 5,
    );
  });

  it('sends all files where the hub copies none', async () => {
    const { hub, uploads, as } = await hubFor();
    const family = writeFamily();
    hub.addDirectory('org/a', family.a);
    const out = join(family.root, 'out');
    const { code } = await cli(
      ['relayout', 'org/a', '-o', out, '--layout', 'size', '--download'],
      hubUser(hub),
    );
    expect(code).toBe(0);
    const { files } = await push(out, 'me/merged', as('writer'));
    expect(files.every(({ state }) => state === 'sent')).toBe(true);
    expect(uploads.commits).toHaveLength(1);
  });

  it('says before it sends anything which files name paths of this machine', async () => {
    const { uploads, as } = await hubFor();
    const directory = await merged();
    const write = (name: string, text: string) => writeFileSync(join(directory, name), text);
    const config = JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8'));
    write('config.json', JSON.stringify({ ...config, _name_or_path: '/home/me/secret project/base' }));
    write('tokenizer_config.json', JSON.stringify({ name_or_path: '../base', url: 'https://x.org/home/me' }));
    write('generation_config.json', JSON.stringify({ eos_token_id: 2, note: 'a/b, 1/2 and /v1/chat' }));
    write('LICENSE', 'see ~/licences/mine.txt and /home/me/other');
    const told: string[] = [];
    const onWarning = (warning: string) => {
      expect(uploads.commits.length).toBe(0);
      told.push(warning);
    };
    const { warnings } = await push(directory, 'me/merged', { ...as('writer'), onWarning });
    expect(told).toEqual(warnings);
    expect(told.filter((warning) => warning.includes('of this machine')).sort()).toEqual([
      expect.stringMatching(/^LICENSE names ~\/licences\/mine\.txt and 1 more, of this machine;/),
      expect.stringMatching(/^config\.json names \/home\/me\/secret, of this machine;/),
      expect.stringMatching(/^tokenizer_config\.json names \.\.\/base, of this machine;/),
    ]);
  });

  it('asks nothing of the hub in a dry run', async () => {
    const { hub } = await hubFor();
    const { code, stdout, stderr } = await cli(
      ['push', await merged(), 'me/merged', '--dry-run', '--json'],
      hubUser(hub),
    );
    expect(code).toBe(0);
    const { files } = JSON.parse(stdout);
    expect(files.every(({ state }: { state: string }) => state === 'planned')).toBe(true);
    expect(stderr).toContain('warning: README.md names no base_model');
    expect(hub.requests).toEqual([]);
  });

  it('prints what it sent, and nothing else on stdout', async () => {
    const { hub } = await hubFor();
    const env = hubUser(hub, { HF_TOKEN: 'writer' });
    const { code, stdout } = await cli(['push', await merged(), 'me/merged', '--json'], env);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id: 'me/merged', revision: 'main' });
  });

  it('refuses what cannot be pushed, with the remedy', async () => {
    const { hub, uploads, as } = await hubFor();
    const directory = await merged();
    const none = await refusal(push(directory, 'me/merged', impatient(hubUser(hub))));
    expect(none.message).toContain('no token was given');
    expect(none.message).toContain('set HF_TOKEN');
    const wrong = await refusal(push(directory, 'me/merged', as('stranger')));
    expect(wrong.message).toContain('refuses the token (HF_TOKEN)');
    const reader = await refusal(push(directory, 'me/merged', as('reader')));
    expect(reader.message).toContain('has no right to write there');
    expect(reader.exitCode).toBe(3);
    const name = await refusal(push(directory, 'merged', as('writer')));
    expect(name.code).toBe('INVALID_PARAMETER');
    const empty = await refusal(push(temporaryDirectory(), 'me/merged', as('writer')));
    expect(empty.code).toBe('NOT_A_CHECKPOINT');
    const foreign = join(temporaryDirectory(), 'secret');
    writeFileSync(foreign, 'not for the hub');
    symlinkSync(foreign, join(directory, 'LICENSE'));
    const linked = await refusal(push(directory, 'me/merged', as('writer')));
    expect(linked.code).toBe('READ_FAILED');
    expect(linked.message).toContain('a file of another name');
    rmSync(join(directory, 'LICENSE'));
    rmSync(join(directory, 'config.json'));
    const lacking = await refusal(push(directory, 'me/merged', as('writer')));
    expect(lacking.message).toContain('lacks config.json, which its layerloom.json lists');
    expect(uploads.commits).toEqual([]);
    expect(uploads.made.size).toBe(0);
  });

  it('refuses what a proxy answers in place of the hub', async () => {
    const { hub, as } = await hubFor();
    hub.faults.push({ kind: 'page', times: 99 });
    const error = await refusal(push(await merged(), 'me/merged', as('writer')));
    expect(error.code).toBe('HUB_UNAVAILABLE');
    expect(error.message).toContain('HF_ENDPOINT');
  });
});
