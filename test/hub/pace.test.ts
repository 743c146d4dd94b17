import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { HubServer } from '../fixtures/hub-server.js';

// A server that sends for ever without finishing.

/** A hub whose storage sends single bytes with pauses, to the first `slow` requests. */
const dripping = async (slow: number) => {
  let requests = 0;
  const hub = await new HubServer({
    before: async (host, request, response) => {
      if (host !== 'cdn' || requests >= slow) return false;
      requests += 1;
      const [, begin = '0', last = '0'] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? [];
      response.writeHead(206, { 'content-range': `bytes ${begin}-${last}/${size}` });
      for (let sent = 0; sent < 2000 && !response.destroyed; sent += 1) {
        response.write(content.subarray(Number(begin) + sent, Number(begin) + sent + 1));
        await pause(30);
      }
      response.destroy();
      return true;
    },
  }).start();
  onTestFinished(() => hub.close());
  const source = writeCheckpoint(join(temporaryDirectory(), 'model'), llama({ hidden: 256 }));
  hub.addDirectory('org/model', source);
  const content = readFileSync(join(source, 'model.safetensors'));
  const size = content.length;
  const env = hubUser(hub, { HF_HUB_DOWNLOAD_TIMEOUT: '0.5' });
  return { env, asked: () => requests };
};

describe('a server that sends a byte now and then', () => {
  it('is given up after a few attempts', async () => {
    const { env, asked } = await dripping(1000);
    await expect(bringHeaders('org/model', impatient(env))).rejects.toMatchObject({
      code: 'HUB_UNAVAILABLE',
      message: expect.stringMatching(/sent less than 512 bytes in 0\.5 s \(tried 4 times\)/),
    });
    expect(asked()).toBe(4);
  });

  it('is asked again, and may have found its pace', async () => {
    const { env } = await dripping(2);
    expect((await bringHeaders('org/model', impatient(env))).id).toBe('org/model');
  });
});
