import { expect, it } from 'vitest';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { startHub } from '../fixtures/hub-server.js';

it('a request that fails without a byte is repeated after a wait that doubles', async () => {
  const hub = await startHub();
  hub.faults.push({ kind: 'status', status: 503, times: 100, on: /./ });
  const patience = { attempts: 3, firstDelayMs: 100, longestDelayMs: 10_000 };
  const began = performance.now();
  await expect(bringHeaders('org/model', impatient(hubUser(hub), { patience }))).rejects.toMatchObject({
    code: 'HUB_UNAVAILABLE',
    message: expect.stringContaining('(tried 3 times)') as string,
  });
  // Two waits, of at least 100 and 200 ms. Timers may end a millisecond early.
  expect(performance.now() - began).toBeGreaterThan(295);
});
